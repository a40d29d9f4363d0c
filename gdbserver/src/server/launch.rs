//! Programs that the client starts and processes that it attaches to (`target extended-remote`).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use nix::sys::personality::{self, Persona};
use ubp::Pid;

use super::Server;
use super::answer::{Answer, EINVAL, EPERM};
use super::stop::{Stop, StopKind};
use crate::protocol::hex;

/// How programs are started.
#[derive(Debug, Default)]
pub(super) struct Launch {
    /// The last program with its arguments.
    program: Vec<OsString>,
    /// Variables that are set, or removed.
    environment: BTreeMap<OsString, Option<OsString>>,
    directory: Option<PathBuf>,
    keeps_addresses: bool,
    /// Whether the standard input and output are the connection, which programs do not get.
    pub(super) is_silent: bool,
}

impl Launch {
    /// Notes a program, to start it again.
    pub(super) fn remember(&mut self, command: &Command) {
        let arguments = command.get_args().map(OsString::from);
        self.program = std::iter::once(command.get_program().to_owned()).chain(arguments).collect();
    }

    /// Keeps the connection from a program.
    pub(super) fn silence(&self, command: &mut Command) {
        if self.is_silent {
            command.stdin(Stdio::null()).stdout(std::io::stderr());
        }
    }

    fn command(&self) -> Option<Command> {
        let (program, arguments) = self.program.split_first()?;
        let mut command = Command::new(program);
        command.args(arguments);
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        self.silence(&mut command);
        Some(command)
    }
}

fn text(digits: &[u8]) -> Option<OsString> {
    Some(OsString::from_vec(hex::decode(digits)?))
}

impl Server {
    /// `vRun;PROGRAM;ARGUMENT…`: without a program the last one.
    pub(super) fn v_run(&mut self, rest: &[u8]) -> Answer {
        let Some(words) = rest.split(|&byte| byte == b';').map(text).collect::<Option<Vec<_>>>() else {
            return Answer::Error(EINVAL);
        };
        if words.first().is_some_and(|program| !program.is_empty()) {
            self.launch.program = words;
        } else if let Some(program) = self.launch.program.first().cloned() {
            self.launch.program = std::iter::once(program).chain(words.into_iter().skip(1)).collect();
        }
        self.start()
    }

    /// `R`: starts the last program again. No answer is expected.
    pub(super) fn restart(&mut self) -> Answer {
        let pids: Vec<Pid> = self.inferiors.keys().copied().collect();
        for pid in pids {
            self.v_kill_one(pid);
        }
        self.start();
        Answer::Later
    }

    fn v_kill_one(&mut self, pid: Pid) {
        let _ = self.answer(format!("vKill;{:x}", pid.0).as_bytes());
    }

    fn start(&mut self) -> Answer {
        let Some(command) = self.launch.command() else { return Answer::Error(EINVAL) };
        let last = personality::get().ok();
        if let Some(last) = last.filter(|_| self.launch.keeps_addresses) {
            // The program inherits it.
            let _ = personality::set(last | Persona::ADDR_NO_RANDOMIZE);
        }
        let spawned = self.session.spawn(command);
        if let Some(last) = last {
            let _ = personality::set(last);
        }
        match spawned {
            Ok(pid) => {
                self.add(pid, false);
                Answer::Text(Stop { pid, tid: pid.leader(), kind: StopKind::Trap }.text())
            }
            Err(error) => Answer::Wrong(error.to_string()),
        }
    }

    pub(super) fn v_attach(&mut self, rest: &[u8]) -> Answer {
        let Some(pid) = hex::number(rest).and_then(|pid| pid.try_into().ok()) else { return Answer::Error(EINVAL) };
        let pid = Pid(pid);
        if self.inferiors.contains_key(&pid) {
            return Answer::Error(EPERM);
        }
        match self.session.attach(pid) {
            Ok(pid) => {
                self.add(pid, true);
                Answer::Text(Stop { pid, tid: pid.leader(), kind: StopKind::Paused }.text())
            }
            Err(error) => Answer::Wrong(error.to_string()),
        }
    }

    pub(super) fn disable_randomization(&mut self, rest: &[u8]) -> Answer {
        self.launch.keeps_addresses = rest == b"1";
        Answer::Ok
    }

    pub(super) fn set_environment(&mut self, rest: &[u8]) -> Answer {
        let Some(bytes) = hex::decode(rest) else { return Answer::Error(EINVAL) };
        let Some((name, value)) = hex::split(&bytes, b'=') else { return Answer::Error(EINVAL) };
        let owned = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        self.launch.environment.insert(owned(name), Some(owned(value)));
        Answer::Ok
    }

    pub(super) fn unset_environment(&mut self, rest: &[u8]) -> Answer {
        let Some(name) = text(rest) else { return Answer::Error(EINVAL) };
        self.launch.environment.insert(name, None);
        Answer::Ok
    }

    pub(super) fn reset_environment(&mut self, _: &[u8]) -> Answer {
        self.launch.environment.clear();
        Answer::Ok
    }

    pub(super) fn set_working_directory(&mut self, rest: &[u8]) -> Answer {
        self.launch.directory = text(rest).filter(|path| !path.is_empty()).map(PathBuf::from);
        Answer::Ok
    }
}
