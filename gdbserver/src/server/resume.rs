//! `vCont`: what threads do next.

use std::ops::Range;

use ubp::{Pid, Signal, Tid};

use super::answer::{Answer, EINVAL};
use super::events::gone_is_fine;
use super::stop::{Stop, StopKind};
use super::{Mode, Server};
use crate::protocol::{ThreadId, hex, signals};

/// What a thread is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Continue(Option<Signal>),
    /// Step one instruction, or while the thread is in the range.
    Step(Option<Signal>, Range<u64>),
    Pause,
}

/// The actions of a packet: for each thread the first one that names it.
#[derive(Debug)]
pub(super) struct Actions(Vec<(Action, ThreadId)>);

impl Actions {
    /// One action for some threads.
    pub(super) fn one(action: Action, threads: ThreadId) -> Actions {
        Actions(vec![(action, threads)])
    }

    /// Parses what follows `vCont`: `;c:p1.2;s`, …
    fn parse(text: &[u8]) -> Option<Actions> {
        let parts = text.strip_prefix(b";")?.split(|&byte| byte == b';');
        parts
            .map(|part| {
                let (action, threads) = match hex::split(part, b':') {
                    Some((action, threads)) => (action, ThreadId::parse(threads)?),
                    None => (part, ThreadId::ALL),
                };
                Some((Action::parse(action)?, threads))
            })
            .collect::<Option<Vec<_>>>()
            .map(Actions)
    }

    fn of(&self, pid: Pid, tid: Tid) -> Option<&Action> {
        self.0.iter().find(|(_, threads)| threads.matches(pid, tid)).map(|(action, _)| action)
    }
}

impl Action {
    fn parse(text: &[u8]) -> Option<Action> {
        let (&letter, rest) = text.split_first()?;
        let signal = || signals::parse(rest);
        match letter {
            b'c' => Some(Action::Continue(None)),
            b'C' => Some(Action::Continue(signal()?)),
            b's' => Some(Action::Step(None, 0..0)),
            b'S' => Some(Action::Step(signal()?, 0..0)),
            b'r' => {
                let (start, end) = hex::pair(rest, b',')?;
                Some(Action::Step(None, start..end))
            }
            b't' => Some(Action::Pause),
            _ => None,
        }
    }
}

impl Server {
    /// `vCont;ACTIONS`.
    pub(super) fn v_cont(&mut self, text: &[u8]) -> Answer {
        match Actions::parse(text) {
            Some(actions) => self.carry_out(&actions),
            None => Answer::Error(EINVAL),
        }
    }

    /// Lets threads do what the actions say. In all-stop mode the answer is the next stop.
    pub(super) fn carry_out(&mut self, actions: &Actions) -> Answer {
        let is_all_stop = matches!(self.mode, Mode::AllStop { .. });
        if is_all_stop {
            self.drop_stale();
            if !self.pending.is_empty() {
                // Something has happened already that the client does not know: no thread runs before it does.
                self.mode = Mode::AllStop { is_running: true };
                return Answer::Later;
            }
            if self.inferiors.is_empty() {
                return Answer::text("N");
            }
        }
        let mut answer = if is_all_stop { Answer::Later } else { Answer::Ok };
        if is_all_stop {
            self.mode = Mode::AllStop { is_running: true };
        }
        for (pid, tid) in self.threads() {
            let Some(action) = actions.of(pid, tid) else { continue };
            if let Err(error) = self.act(pid, tid, action) {
                answer = Answer::Wrong(error.to_string());
            }
        }
        if is_all_stop && !matches!(answer, Answer::Later) {
            self.freeze();
            self.mode = Mode::AllStop { is_running: false };
        }
        answer
    }

    fn act(&mut self, pid: Pid, tid: Tid, action: &Action) -> ubp::Result<()> {
        let is_held = self.session.is_held(tid);
        let Some(inferior) = self.inferiors.get_mut(&pid).filter(|inferior| !inferior.leaving) else { return Ok(()) };
        let doing = inferior.doing(tid);
        if *action == Action::Pause {
            if is_held {
                if self.running.remove(&tid) {
                    self.pending.push_back(Stop { pid, tid, kind: StopKind::Paused });
                }
                return Ok(());
            }
            doing.pausing = true;
            return gone_is_fine(self.session.interrupt_thread(tid));
        }
        if !is_held || self.pending.iter().any(|stop| stop.tid == tid) {
            return Ok(());
        }
        let owed = doing.owed.take();
        let result = match action {
            Action::Step(signal, range) => {
                doing.stepping = Some(range.clone());
                self.session.step_with(tid, signal.or(owed))
            }
            Action::Continue(signal) => {
                doing.stepping = None;
                self.session.resume_with(tid, signal.or(owed))
            }
            Action::Pause => Ok(()),
        };
        self.running.insert(tid);
        gone_is_fine(result)
    }

    /// Drops pending stops at breakpoints that the client has removed. Their threads can go on.
    fn drop_stale(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.pending = pending.into_iter().filter(|stop| self.is_valid(stop)).collect();
    }

    /// Holds all threads that the client sees.
    pub(super) fn freeze(&mut self) {
        let pids: Vec<Pid> =
            self.inferiors.iter().filter(|(_, inferior)| !inferior.leaving).map(|(&pid, _)| pid).collect();
        for pid in pids {
            if self.session.stop(pid).is_err() {
                // One thread waits uninterruptibly. The others are stopped one by one; that one is when its wait ends.
                let _ = self.session.interrupt(pid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_action_that_names_a_thread_is_the_threads() {
        let actions = Actions::parse(b";S0b:p1.2;r10,20:p1.3;c").unwrap();
        let of = |tid| actions.of(Pid(1), Tid(tid)).cloned();
        assert_eq!(of(2), Some(Action::Step(Some(Signal(11)), 0..0)));
        assert_eq!(of(3), Some(Action::Step(None, 0x10..0x20)));
        assert_eq!(of(4), Some(Action::Continue(None)));
        assert!(Actions::parse(b"c").is_none() && Actions::parse(b";x").is_none() && Actions::parse(b";Czz").is_none());
    }
}
