//! Watchpoints: each debug register that they need is a watchpoint of the channel.

use wire::Status;
use wire::commands::{Command, Reply, access};

use super::{Kernel, cannot, failed};
use crate::watch::Piece;
use crate::{Access, Address, Error, Pid, Result, WatchError, WatchId};

/// Debug registers of a processor (SDM vol. 3B, 19.2).
const PRESENT: usize = 4;

impl Kernel {
    pub(super) fn watch(&mut self, pid: Pid, address: Address, length: u64, access: Access) -> Result<WatchId> {
        let watches = &mut self.debuggee_mut(pid)?.watching.watches;
        let added = watches.add(address.0, length, access, PRESENT);
        let id = added.map_err(|reason| Error::Watch(WatchError { pid, address, length, reason }))?;
        let armed = self.arm(pid);
        if armed.is_err() {
            self.unwatch(pid, id)?;
        }
        armed.map(|()| id)
    }

    pub(super) fn unwatch(&mut self, pid: Pid, id: WatchId) -> Result<()> {
        match self.debuggee_mut(pid)?.watching.watches.remove(id) {
            true => self.arm(pid),
            false => Ok(()),
        }
    }

    /// Has the kernel watch what the watchpoints of a process need.
    fn arm(&mut self, pid: Pid) -> Result<()> {
        let debuggee = self.debuggee(pid)?;
        let number = debuggee.number;
        let wanted = debuggee.watching.watches.pieces();
        let armed = debuggee.watching.armed.clone();
        for (_, watch) in armed.iter().filter(|(piece, _)| !wanted.contains(piece)) {
            let told = self.channel.ask(Command::Unwatch { debuggee: number, watch: *watch }, |told| told.map(drop))?;
            told.map_err(|failure| failed(pid, "unwatch", failure))?;
            self.debuggee_mut(pid)?.watching.armed.retain(|(_, other)| other != watch);
        }
        for piece in wanted.into_iter().filter(|piece| armed.iter().all(|(other, _)| other != piece)) {
            let watch = self.watch_piece(pid, number, &piece)?;
            self.debuggee_mut(pid)?.watching.armed.push((piece, watch));
        }
        Ok(())
    }

    fn watch_piece(&self, pid: Pid, debuggee: u64, piece: &Piece) -> Result<u64> {
        let (length, access) = match piece.access {
            Access::Write => (piece.length.into(), access::WRITE),
            Access::ReadWrite => (piece.length.into(), access::READ_WRITE),
            Access::Execute => (8, access::EXECUTE),
        };
        let command = Command::Watch { debuggee, address: piece.address, length, access };
        let told = self.channel.ask(command, |told| {
            told.map(|reply| match reply {
                Reply::Watch { watch } => watch,
                _ => 0,
            })
        })?;
        told.map_err(|failure| match failure.status {
            Status::Unknown => cannot("watch memory: its version is older than that of this program"),
            Status::Unsupported => cannot("watch memory on this kernel and processor"),
            Status::Limit => Error::DebugRegisters(pid.leader()),
            _ => failed(pid, "watch", failure),
        })
    }
}
