//! Lets all threads run, and holds them.

use serde::Deserialize;
use serde_json::json;
use ubp::{Pid, Tid};

use super::adapter::Adapter;
use super::refusal::{Answered, Refusal};
use super::stop::{Reason, Stop};

/// What `pause` has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PauseFields {
    thread_id: i64,
}

impl Adapter {
    /// `continue`
    pub(super) fn go_on(&mut self) -> Answered {
        self.check_stopped()?;
        self.resume_all();
        Ok(json!({ "allThreadsContinued": true }))
    }

    pub(super) fn pause(&mut self, fields: &PauseFields) -> Answered {
        let known = self.process_of(fields.thread_id).ok().or_else(|| self.all_threads().first().copied());
        let Some((pid, tid)) = known else { return Err(Refusal::new("no program runs")) };
        if self.is_running && self.pending.is_empty() {
            self.pending.push_back(Stop { pid, tid, reason: Reason::Pause });
        }
        Ok(serde_json::Value::Null)
    }

    /// Refuses what only a stopped program can do.
    pub(super) fn check_stopped(&self) -> Result<(), Refusal> {
        match self.is_running {
            true => Err(Refusal::new("the program runs; pause it first")),
            false if self.programs.is_empty() => Err(Refusal::new("no program is debugged")),
            false => Ok(()),
        }
    }

    /// Lets all threads run that have no stop which the client does not know.
    pub(super) fn resume_all(&mut self) {
        self.resume_others(None);
    }

    /// Lets all threads but one run.
    pub(super) fn resume_others(&mut self, but: Option<Tid>) {
        self.drop_stale();
        self.is_running = true;
        self.shown.forget();
        if !self.pending.is_empty() {
            // Something has happened already that the client does not know: no thread runs before it does.
            return;
        }
        for (_, tid) in self.all_threads() {
            if Some(tid) != but && self.session.is_held(tid) {
                // An error: the thread was killed meanwhile, and its end is reported.
                let _ = match self.owed.remove(&tid) {
                    Some(signal) => self.session.resume_with(tid, Some(signal)),
                    None => self.session.resume(tid),
                };
            }
        }
    }

    /// Drops stops at breakpoints that the client has removed.
    fn drop_stale(&mut self) {
        let wanted = &self.wanted;
        self.pending.retain(|stop| match &stop.reason {
            Reason::Breakpoint(numbers, _) => numbers.iter().any(|number| wanted.contains(*number)),
            _ => true,
        });
    }

    /// Holds all threads that the client sees.
    pub(super) fn freeze(&mut self) {
        let seen = self.programs.iter().filter(|(_, program)| !program.is_leaving);
        let pids: Vec<Pid> = seen.map(|(&pid, _)| pid).collect();
        for pid in pids {
            if self.session.stop(pid).is_err() {
                // One thread waits uninterruptibly. The others are stopped one by one; that one is when its wait ends.
                let _ = self.session.interrupt(pid);
            }
        }
    }
}
