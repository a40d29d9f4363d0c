//! Processes that are traced as soon as they execute a program.

use std::collections::BTreeSet;
use std::time::Duration;

use wire::Status;
use wire::commands::{Command, Reply, following};

use super::{Kernel, cannot};
use crate::follow::FollowError;
use crate::process::read_process;
use crate::{Error, EventKind, Follow, FollowId, Pid, Result};

const _: () = assert!(Follow::MOST_PATTERN == following::MOST_PATTERN && Follow::MOST == following::MOST_RULES);

impl Kernel {
    pub(super) fn follow(&mut self, follow: &Follow) -> Result<FollowId> {
        let program = follow.program.as_deref().unwrap_or_default();
        if program.len() > Follow::MOST_PATTERN {
            return Err(Error::Follow(FollowError::Pattern { bytes: program.len() }));
        }
        let command = Command::Follow {
            program,
            user: follow.user.map_or(following::ANY_USER, u64::from),
            group: follow.group.unwrap_or(following::ANY_GROUP),
            namespace: follow.namespace.unwrap_or(following::ANY_NAMESPACE),
            options: self.options_of_debuggees(),
        };
        let told = self.channel.ask(command, |told| {
            told.map(|reply| match reply {
                Reply::Follow { follow } => follow,
                _ => 0,
            })
        })?;
        let id = FollowId(told.map_err(|failure| match failure.status {
            Status::Unknown => cannot("follow programs: its version is older than that of this program"),
            Status::Limit => Error::Follow(FollowError::TooMany),
            _ => Error::Follow(FollowError::NoMemory),
        })?);
        self.follows.insert(id);
        Ok(id)
    }

    pub(super) fn unfollow(&mut self, id: FollowId) -> Result<()> {
        if self.follows.remove(&id) {
            self.channel.post(Command::Unfollow { follow: id.0 })?;
        }
        Ok(())
    }

    /// A process executed a program. Its thread will be held before the first instruction, unless the process is not traced.
    pub(super) fn on_followed(&mut self, debuggee: u64, pid: Pid, id: FollowId, time: Duration) -> Result<()> {
        if debuggee == 0 {
            self.emit(pid, pid.leader(), EventKind::NotFollowed(id), time);
            return Ok(());
        }
        if self.debuggees.contains_key(&pid) {
            // The user attached to the process while it executed the program, so that the session traces it twice.
            self.channel.post(Command::Detach { debuggee })?;
            return Ok(());
        }
        let mut process = read_process(pid)?;
        process.threads = BTreeSet::from([pid.leader()]);
        self.add(process, debuggee);
        self.newcomers.insert(pid.leader(), id);
        self.choose(pid, self.options.syscalls)
    }
}
