//! Code in the debuggee that enters the kernel, and the numbers of system calls there.

use super::{Tracer, arch};
use crate::process::read_maps;
use crate::{Error, Pid, Result};

/// No more of one mapping is searched.
const SEARCH: usize = 4 << 20;
const ALIGNMENT: usize = crate::arch::ALIGNMENT as usize;

/// Numbers of system calls that are made in debuggees.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls {
    /// `mmap`, or `mmap2`.
    pub(super) mmap: u64,
    pub(super) munmap: u64,
}

impl Tracer {
    /// The address of an instruction that enters the kernel.
    pub(super) fn gate_of(&self, pid: Pid) -> Result<u64> {
        let space = self.space_of(pid)?;
        let gate = arch::gate(space.arch);
        // A child whose memory was copied before an arena was mapped does not have it yet.
        let is_there = |&at: &u64| space.memory.read_array(at) == Some(gate);
        if let Some(at) = space.storages.iter().map(|storage| storage.arena.gate()).find(is_there) {
            return Ok(at);
        }
        let entering = gate.get(..arch::ENTERS as usize).unwrap_or(&gate);
        let mut maps = read_maps(pid)?;
        maps.retain(|mapping| mapping.execute && mapping.read);
        // The kernel's own page always has one.
        maps.sort_by_key(|mapping| mapping.path.as_deref().is_none_or(|path| path.as_os_str() != "[vdso]"));
        for mapping in maps {
            let mut code = vec![0; ((mapping.end - mapping.start) as usize).min(SEARCH)];
            let read = space.memory.read(mapping.start.0, &mut code);
            code.truncate(read);
            if let Some(at) = code.windows(entering.len()).step_by(ALIGNMENT).position(|bytes| bytes == entering) {
                return Ok(mapping.start.0 + (at * ALIGNMENT) as u64);
            }
        }
        Err(Error::NoRoom { pid, near: crate::Address(0) })
    }
}
