//! The packets that the server understands.

use super::Server;
use super::answer::{Answer, EINVAL};
use super::resume::{Action, Actions};
use super::stop::{Stop, StopKind};
use super::{Mode, xfer};
use crate::protocol::{ThreadId, hex, signals};

type Handler = fn(&mut Server, &[u8]) -> Answer;

/// Packets by the text that they begin with. Of several that fit the first one counts.
const HANDLERS: &[(&str, Handler)] = &[
    ("!", |server, _| {
        server.is_extended = true;
        Answer::Ok
    }),
    ("?", |server, _| server.why()),
    ("vCont?", |_, _| Answer::text("vCont;c;C;s;S;t;r")),
    ("vCont", Server::v_cont),
    ("vStopped", |server, _| server.confirmed()),
    ("vCtrlC", |server, _| server.pause_all()),
    ("vMustReplyEmpty", |_, _| Answer::Unknown),
    ("vFile:", Server::v_file),
    ("vRun;", Server::v_run),
    ("vAttach;", Server::v_attach),
    ("vKill;", Server::v_kill),
    ("qSupported", Server::q_supported),
    ("QStartNoAckMode", Server::start_no_ack_mode),
    ("QNonStop:", Server::non_stop),
    ("QThreadEvents:", Server::thread_events),
    ("QPassSignals:", Server::pass_signals),
    ("QProgramSignals:", |_, _| Answer::Ok),
    ("QCatchSyscalls:", Server::catch_syscalls),
    ("QDisableRandomization:", Server::disable_randomization),
    ("QStartupWithShell:", |_, _| Answer::Ok),
    ("QEnvironmentHexEncoded:", Server::set_environment),
    ("QEnvironmentUnset:", Server::unset_environment),
    ("QEnvironmentReset", Server::reset_environment),
    ("QSetWorkingDir:", Server::set_working_directory),
    ("qXfer:", xfer::read),
    ("qC", |server, _| server.current_thread()),
    ("qfThreadInfo", |server, _| server.thread_list()),
    ("qsThreadInfo", |_, _| Answer::text("l")),
    ("qThreadExtraInfo,", Server::thread_extra_info),
    ("qAttached", Server::attached),
    ("qSymbol", |_, _| Answer::Ok),
    ("qHostInfo", |server, _| server.host_info()),
    ("qProcessInfo", |server, _| server.process_info()),
    ("qMemoryRegionInfo:", Server::memory_region_info),
    ("Hg", Server::select),
    ("Hc", |_, _| Answer::Ok),
    ("T", Server::is_alive),
    ("g", |server, _| server.read_registers()),
    ("G", Server::write_registers),
    ("p", Server::read_register),
    ("P", Server::write_register),
    ("m", Server::read_memory_hex),
    ("M", Server::write_memory_hex),
    ("x", Server::read_memory_binary),
    ("X", Server::write_memory_binary),
    ("Z", Server::insert),
    ("z", Server::remove),
    ("D", Server::detach),
    ("k", |server, _| server.kill_all()),
    ("R", |server, _| server.restart()),
    ("c", |server, text| server.resume_selected(text, Action::Continue(None))),
    ("s", |server, text| server.resume_selected(text, Action::Step(None, 0..0))),
    ("C", |server, text| server.resume_with_signal(text, Action::Continue)),
    ("S", |server, text| server.resume_with_signal(text, |signal| Action::Step(signal, 0..0))),
];

impl Server {
    /// The answer to a packet.
    pub(super) fn answer(&mut self, packet: &[u8]) -> Answer {
        let found = HANDLERS.iter().find_map(|(name, handler)| Some((handler, packet.strip_prefix(name.as_bytes())?)));
        match found {
            Some((handler, rest)) => handler(self, rest),
            None => Answer::Unknown,
        }
    }

    /// `?`: what has stopped. In non-stop mode this is the first of a list of all that have.
    fn why(&mut self) -> Answer {
        if let Mode::NonStop { is_told } = &mut self.mode {
            *is_told = true;
            let held: Vec<_> = self.threads().into_iter().filter(|&(_, tid)| self.session.is_held(tid)).collect();
            for (pid, tid) in held {
                if !self.pending.iter().any(|stop| stop.tid == tid) {
                    self.pending.push_back(Stop { pid, tid, kind: StopKind::Paused });
                }
            }
            return self.next_told();
        }
        let thread = self.selected.or_else(|| self.threads().first().copied());
        match thread {
            Some((pid, tid)) => Answer::text(Stop { pid, tid, kind: StopKind::Trap }.text()),
            None => Answer::text("W00"),
        }
    }

    /// `vStopped`: the client has seen a stop.
    fn confirmed(&mut self) -> Answer {
        self.pending.pop_front();
        self.next_told()
    }

    fn next_told(&mut self) -> Answer {
        match self.pending.front().cloned() {
            Some(stop) => {
                self.note_told(&stop);
                Answer::text(stop.text())
            }
            None => {
                self.mode = Mode::NonStop { is_told: false };
                Answer::Ok
            }
        }
    }

    fn pause_all(&mut self) -> Answer {
        self.carry_out(&Actions::one(Action::Pause, ThreadId::ALL))
    }

    /// `Hg`: chooses the thread of the packets that follow.
    fn select(&mut self, text: &[u8]) -> Answer {
        let Some(id) = ThreadId::parse(text) else { return Answer::Error(EINVAL) };
        let is_meant = |&(pid, tid): &(ubp::Pid, ubp::Tid)| id.matches(pid, tid);
        if self.selected.as_ref().is_some_and(|selected| is_meant(selected) && self.is_there(*selected)) {
            return Answer::Ok;
        }
        match self.threads().into_iter().find(is_meant) {
            Some(thread) => {
                self.selected = Some(thread);
                Answer::Ok
            }
            None if self.inferiors.is_empty() => Answer::Ok,
            None => Answer::Error(EINVAL),
        }
    }

    fn is_there(&self, (pid, tid): (ubp::Pid, ubp::Tid)) -> bool {
        self.threads().contains(&(pid, tid))
    }

    fn is_alive(&mut self, text: &[u8]) -> Answer {
        let id = ThreadId::parse(text);
        let is_alive = id.is_some_and(|id| self.threads().iter().any(|&(pid, tid)| id.matches(pid, tid)));
        if is_alive { Answer::Ok } else { Answer::Error(EINVAL) }
    }

    /// `c` and `s`: the selected thread, and all others with it.
    fn resume_selected(&mut self, text: &[u8], action: Action) -> Answer {
        if !text.is_empty() {
            // Resuming at another address is done by writing the pc.
            return Answer::Unknown;
        }
        self.resume_all(action)
    }

    fn resume_with_signal(&mut self, text: &[u8], action: fn(Option<ubp::Signal>) -> Action) -> Answer {
        match signals::parse(text) {
            Some(signal) => self.resume_all(action(signal)),
            None => Answer::Error(EINVAL),
        }
    }

    fn resume_all(&mut self, action: Action) -> Answer {
        let threads = match (&action, self.selected) {
            (Action::Step(..), Some((pid, tid))) => ThreadId::of(pid, tid),
            _ => ThreadId::ALL,
        };
        self.carry_out(&Actions::one(action, threads))
    }

    /// `D;PID`: the process runs on by itself.
    fn detach(&mut self, text: &[u8]) -> Answer {
        let pids: Vec<ubp::Pid> = match text.strip_prefix(b";").and_then(hex::number) {
            Some(pid) => vec![ubp::Pid(pid as i32)],
            None => self.inferiors.keys().copied().collect(),
        };
        for &pid in &pids {
            let Some(inferior) = self.inferiors.get_mut(&pid) else { return Answer::Error(EINVAL) };
            if inferior.is_guest {
                // It has its parent's memory. What it does until it leaves that is nobody's business.
                inferior.leaving = true;
                let _ = self.session.resume(pid.leader());
                continue;
            }
            self.let_go(pid);
        }
        if self.inferiors.is_empty() && !self.is_extended { Answer::Last } else { Answer::Ok }
    }

    fn v_kill(&mut self, text: &[u8]) -> Answer {
        match hex::number(text) {
            Some(pid) if self.inferiors.contains_key(&ubp::Pid(pid as i32)) => {
                self.kill(ubp::Pid(pid as i32));
                Answer::Ok
            }
            _ => Answer::Error(EINVAL),
        }
    }

    fn kill_all(&mut self) -> Answer {
        let pids: Vec<ubp::Pid> = self.inferiors.keys().copied().collect();
        pids.into_iter().for_each(|pid| self.kill(pid));
        self.has_ended = !self.is_extended;
        // No answer is expected.
        Answer::Later
    }

    fn kill(&mut self, pid: ubp::Pid) {
        if let Some(inferior) = self.inferiors.get_mut(&pid) {
            // Its end is nothing that the client waits for.
            inferior.leaving = true;
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid.0), nix::sys::signal::Signal::SIGKILL);
        }
    }
}
