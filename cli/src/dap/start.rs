//! How debugging begins and ends: a program is started, or a process is attached to.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;

use nix::sys::signal::{Signal as NixSignal, kill};
use serde::Deserialize;
use serde_json::{Value, json};
use ubp::{Event, EventKind, Pid};

use super::adapter::Adapter;
use super::pipe::Pipe;
use super::program::Program;
use super::refusal::{Answered, Refusal};
use super::start_options::Start;
use super::stop::{Reason, Stop};
use crate::launch::{attach_failure, check_process, command, spawn_failure};

/// What `launch` has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LaunchFields {
    program: String,
    #[serde(default)]
    args: Vec<String>,
    cwd: Option<PathBuf>,
    /// Variables, of which one without a value is removed.
    #[serde(default)]
    env: BTreeMap<String, Option<String>>,
    #[serde(default)]
    stop_on_entry: bool,
    #[serde(default)]
    follow_forks: bool,
    #[serde(default)]
    no_debug: bool,
}

/// What `attach` has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AttachFields {
    #[serde(alias = "processId")]
    pid: i32,
    #[serde(default)]
    stop_on_entry: bool,
    #[serde(default)]
    follow_forks: bool,
}

/// What `disconnect` has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DisconnectFields {
    terminate_debuggee: Option<bool>,
}

impl Adapter {
    pub(super) fn launch(&mut self, fields: &LaunchFields) -> Answered {
        self.check_fresh()?;
        let words: Vec<OsString> = std::iter::once(&fields.program).chain(&fields.args).map(OsString::from).collect();
        let refuse = |failure: crate::failure::Failure| Refusal::new(failure.to_string());
        let mut command = command(&words, self.heritage).map_err(refuse)?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, value) in &fields.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = &fields.cwd {
            if !folder.is_dir() {
                return Err(Refusal::new(format!("{}: the working directory is no folder", folder.display())));
            }
            command.current_dir(folder);
        }
        let spawned = self.session.spawn(command);
        let pid = spawned.map_err(|error| refuse(spawn_failure(words[0].as_os_str(), error)))?;
        self.pipes = Pipe::of(self.session.take_stdio(pid));
        self.start.is_run_alone = fields.no_debug;
        self.begin(pid, false, fields.stop_on_entry, fields.follow_forks)
    }

    pub(super) fn attach(&mut self, fields: &AttachFields) -> Answered {
        self.check_fresh()?;
        let refuse = |failure: crate::failure::Failure| Refusal::new(failure.to_string());
        check_process(fields.pid).map_err(refuse)?;
        let pid = self.session.attach(Pid(fields.pid)).map_err(|error| refuse(attach_failure(error)))?;
        // A process with a thread that cannot be stopped is held as far as it can be.
        let _ = self.session.stop(pid);
        self.begin(pid, true, fields.stop_on_entry, fields.follow_forks)
    }

    fn check_fresh(&self) -> Result<(), Refusal> {
        match self.start.first {
            Some(pid) => Err(Refusal::new(format!("process {pid} is debugged already; connect once more for another"))),
            None => Ok(()),
        }
    }

    /// The first program is there, and its threads are held: the client sets its breakpoints next.
    fn begin(&mut self, pid: Pid, is_attached: bool, stops_on_entry: bool, follows_forks: bool) -> Answered {
        self.start = Start { stops_on_entry, follows_forks, first: Some(pid), ..std::mem::take(&mut self.start) };
        self.programs.insert(pid, Program::new(pid, is_attached));
        self.tell_process(pid);
        self.find_modules(pid);
        self.tell("initialized", json!({}));
        Ok(Value::Null)
    }

    fn tell_process(&mut self, pid: Pid) {
        let name = self.session.process(pid).map(|process| process.executable().display().to_string());
        let is_attached = self.programs.get(&pid).is_some_and(|program| program.is_attached);
        let method = if is_attached { "attach" } else { "launch" };
        let body = json!({
            "name": name.unwrap_or_default(), "systemProcessId": pid.0, "isLocalProcess": true, "startMethod": method,
        });
        self.tell("process", body);
    }

    /// The client has set its breakpoints.
    pub(super) fn configured(&mut self) -> Answered {
        let Some(pid) = self.start.first.filter(|_| !self.start.is_configured) else {
            return Err(Refusal::new("no program has been started"));
        };
        self.start.is_configured = true;
        if self.start.stops_on_entry {
            self.is_running = true;
            self.pending.push_back(Stop { pid, tid: pid.leader(), reason: Reason::Entry });
        } else {
            self.resume_all();
        }
        Ok(Value::Null)
    }

    /// Whether the client wants no breakpoint.
    pub(super) fn is_run_alone(&self) -> bool {
        self.start.is_run_alone
    }

    pub(super) fn disconnect(&mut self, fields: &DisconnectFields) -> Answered {
        if let Some(is_wanted) = fields.terminate_debuggee {
            self.programs.values_mut().for_each(|program| program.is_attached = !is_wanted);
        }
        self.has_ended = true;
        Ok(Value::Null)
    }

    /// Asks the first program to end.
    pub(super) fn terminate(&mut self) -> Answered {
        let Some(pid) = self.start.first.filter(|pid| self.programs.contains_key(pid)) else {
            return Err(Refusal::new("no program runs"));
        };
        // An error: it has ended meanwhile, which is told.
        let _ = kill(nix::unistd::Pid::from_raw(pid.0), NixSignal::SIGTERM);
        self.exceptions.pass_termination();
        if !self.is_running {
            self.resume_all();
        }
        Ok(Value::Null)
    }

    /// Leaves all programs: those that the client started are killed, the others run on.
    pub(super) fn leave_programs(mut self) {
        let pids: Vec<(Pid, bool)> =
            self.programs.iter().map(|(pid, program)| (*pid, program.is_attached || program.is_leaving)).collect();
        for (pid, lives) in pids {
            if !lives {
                let _ = kill(nix::unistd::Pid::from_raw(pid.0), NixSignal::SIGKILL);
            }
            // An error: it has ended.
            let _ = self.session.detach(pid);
        }
        self.session.leave();
    }

    /// A thread made a process.
    pub(super) fn forked(&mut self, event: &Event, child: Pid) {
        let shares = self.session.shares_memory(event.pid, child);
        let Some(program) = self.programs.get(&event.pid) else { return };
        let is_followed = self.start.follows_forks && !program.is_leaving;
        let mut new = program.fork(child, shares);
        new.is_leaving = !is_followed;
        self.programs.insert(child, new);
        if is_followed {
            self.tell("thread", json!({ "reason": "started", "threadId": child.0 }));
        }
        if is_followed || shares {
            // It has its parent's memory, and so the breakpoints, until it executes a program.
            let _ = self.session.resume(child.leader());
        } else {
            self.let_go(child);
        }
    }

    /// A process executed another program.
    pub(super) fn executed(&mut self, pid: Pid) -> bool {
        let Some(program) = self.programs.get_mut(&pid) else { return false };
        if program.is_leaving {
            self.let_go(pid);
            return false;
        }
        *program = Program::new(pid, program.is_attached);
        self.watches.forget(pid);
        self.tell_process(pid);
        self.find_modules(pid);
        true
    }

    /// Stops tracing a process, which runs on.
    fn let_go(&mut self, pid: Pid) {
        self.programs.remove(&pid);
        // A process that has ended meanwhile needs no detaching.
        let _ = self.session.detach(pid);
    }

    /// A process ended.
    pub(super) fn ended(&mut self, pid: Pid, kind: &EventKind) {
        let known = self.programs.remove(&pid);
        self.pending.retain(|stop| stop.pid != pid);
        self.watches.forget(pid);
        if known.is_none_or(|program| program.is_leaving) {
            return;
        }
        self.drain_output();
        if self.start.first == Some(pid) {
            let status = match *kind {
                EventKind::Exited(status) => status,
                EventKind::Killed(signal) => {
                    self.say(&format!("process {pid} was killed by {signal}"));
                    128 + signal.0
                }
                _ => 0,
            };
            self.tell("exited", json!({ "exitCode": status }));
        }
        if self.programs.values().all(|program| program.is_leaving) {
            self.tell("terminated", json!({}));
        }
    }
}
