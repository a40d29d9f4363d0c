//! What an event of the session means: `judge` decides, and `take_events` acts.

use std::collections::HashSet;

use serde_json::json;
use ubp::{Event, EventKind, Hit, Pid, SignalInfo, Tid};

use super::adapter::Adapter;
use super::stop::{Reason, Stop};
use crate::failure::{Failure, Result};

/// The most events that are handled before the client is heard.
const BATCH: usize = 64;

/// What the adapter does about an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The thread goes on, with the signal that the event reports.
    GoOn,
    /// The thread goes on with its step.
    Step,
    /// The client is told.
    Tell(Reason),
    /// Nothing: the thread is gone, or runs.
    Nothing,
}

impl Adapter {
    /// Takes the events that there are, at most [`BATCH`] while threads run: the client is heard between. Returns whether there may be more.
    /// The first stop that the client is to see stops all threads.
    pub(super) fn take_events(&mut self) -> Result<bool> {
        let mut is_more = self.handle_events()?;
        self.take_records();
        if self.is_running && !self.pending.is_empty() {
            self.freeze();
            self.is_running = false;
            self.steps.clear();
            // Threads that are held make no more events.
            while self.handle_events()? {}
            is_more = false;
            // A stop whose process has ended meanwhile is none.
            match self.pending.pop_front() {
                Some(stop) => self.tell_stop(&stop),
                None => self.resume_all(),
            }
        }
        Ok(is_more)
    }

    /// Handles at most [`BATCH`] events, and returns whether there may be more.
    fn handle_events(&mut self) -> Result<bool> {
        for _ in 0..BATCH {
            let Some(event) = self.session.poll().map_err(Failure::trace)? else { return Ok(false) };
            let (pid, tid) = (event.pid, event.tid);
            match self.judge(&event) {
                Next::Tell(reason) => self.pending.push_back(Stop { pid, tid, reason }),
                // In a program that the client looks at, a thread waits for the client.
                Next::GoOn if self.is_frozen(pid) => self.keep_signal(tid),
                Next::Step if self.is_frozen(pid) => {}
                Next::GoOn if event.is_held() => gone_is_fine(self.session.resume(tid))?,
                Next::Step => self.step_on(pid, tid)?,
                Next::GoOn | Next::Nothing => {}
            }
        }
        Ok(true)
    }

    /// Whether the client looks at a process all of whose threads wait.
    fn is_frozen(&self, pid: Pid) -> bool {
        let is_seen = self.programs.get(&pid).is_some_and(|program| !program.is_leaving);
        is_seen && !self.is_running
    }

    /// Notes the signal of a thread that cannot go on now, to deliver it later.
    fn keep_signal(&mut self, tid: Tid) {
        if let Ok(Some(info)) = self.session.signal_info(tid) {
            self.owed.insert(tid, info.signal);
        }
    }

    fn judge(&mut self, event: &Event) -> Next {
        let (pid, tid) = (event.pid, event.tid);
        let is_leaving = self.programs.get(&pid).is_none_or(|program| program.is_leaving);
        if matches!(event.kind, EventKind::Hit(_) | EventKind::Exited(_) | EventKind::Killed(_) | EventKind::Exec) {
            // What log points said before the event, while it is known where they are.
            self.take_records();
        }
        match &event.kind {
            EventKind::Exited(_) | EventKind::Killed(_) => {
                self.ended(pid, &event.kind);
                Next::Nothing
            }
            EventKind::Exec => match self.executed(pid) {
                true => Next::GoOn,
                false => Next::Nothing,
            },
            EventKind::Forked { child } => {
                self.forked(event, *child);
                Next::GoOn
            }
            _ if is_leaving => Next::GoOn,
            EventKind::Hit(hit) => self.hit(event, hit),
            EventKind::Stepped => self.stepped(pid, tid),
            EventKind::Loaded(_) | EventKind::Unloaded(_) => {
                self.find_modules(pid);
                Next::GoOn
            }
            EventKind::ThreadStarted => {
                self.tell("thread", json!({ "reason": "started", "threadId": tid.0 }));
                Next::GoOn
            }
            EventKind::ThreadExited => {
                self.steps.remove(&tid);
                self.owed.remove(&tid);
                self.tell("thread", json!({ "reason": "exited", "threadId": tid.0 }));
                Next::Nothing
            }
            EventKind::Signal(info) => self.signalled(info),
            EventKind::Watched { id, .. } => match self.watches.name(pid, *id) {
                Some(name) => Next::Tell(Reason::Watched(name)),
                None => Next::GoOn,
            },
            _ => Next::GoOn,
        }
    }

    fn signalled(&self, info: &SignalInfo) -> Next {
        match self.exceptions.signal(info) {
            Some(text) => Next::Tell(Reason::Exception(text)),
            None => Next::GoOn,
        }
    }

    /// A thread reached breakpoints: conditions, numbers of hits and log points decide.
    fn hit(&mut self, event: &Event, hit: &Hit) -> Next {
        let mut stopping = Vec::new();
        let mut told = HashSet::new();
        for (id, count) in hit.breakpoints() {
            let program = self.programs.get(&event.pid);
            let Some(placed) = program.and_then(|program| program.placed.get(&id)).cloned() else { continue };
            // A line may have several breakpoints at one address, by inlined copies of it.
            if told.insert(placed.number) && self.is_wanted(event, &placed, count) {
                stopping.push(placed.number);
            }
        }
        if let Some(first) = stopping.first() {
            let kind = self.wanted.word(*first);
            return match self.wanted.thrown(*first) {
                Some(what) => Next::Tell(Reason::Exception(what.into())),
                None => Next::Tell(Reason::Breakpoint(stopping, kind)),
            };
        }
        if self.steps.contains_key(&event.tid) { self.passed(event.pid, event.tid) } else { Next::GoOn }
    }

    /// Tells the client that all threads have stopped.
    fn tell_stop(&mut self, stop: &Stop) {
        self.shown.forget();
        let mut body = json!({ "threadId": stop.tid.0, "allThreadsStopped": true });
        let (reason, description) = match &stop.reason {
            Reason::Entry => ("entry", None),
            Reason::Step => ("step", None),
            Reason::Pause => ("pause", None),
            Reason::Breakpoint(numbers, word) => {
                body["hitBreakpointIds"] = json!(numbers);
                (*word, None)
            }
            Reason::Exception(text) => ("exception", Some(text)),
            Reason::Watched(text) => ("data breakpoint", Some(text)),
        };
        body["reason"] = json!(reason);
        if let Some(text) = description {
            body["description"] = json!(text);
            body["text"] = json!(text);
        }
        self.exceptions.note_stop(stop);
        self.tell("stopped", body);
    }
}

/// The result of an operation on a thread that may have been killed meanwhile: its end is reported.
pub(super) fn gone_is_fine(result: ubp::Result<()>) -> Result<()> {
    match result {
        Err(ubp::Error::NoSuchThread(_) | ubp::Error::NotHeld(_) | ubp::Error::NoSuchProcess(_)) | Ok(()) => Ok(()),
        Err(error) => Err(Failure::trace(error)),
    }
}
