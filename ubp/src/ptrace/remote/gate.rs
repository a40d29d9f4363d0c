//! Code in the debuggee that enters the kernel.

use super::super::arch;
use super::super::space::Space;
use crate::process::read_maps;
use crate::{Error, Pid, Result};

/// The largest part of one mapping that is searched.
const SEARCH: usize = 4 << 20;
const ALIGNMENT: usize = crate::arch::ALIGNMENT as usize;

/// The address of an instruction that enters the kernel.
pub(super) fn find_gate(space: &Space, pid: Pid) -> Result<u64> {
    let gate = arch::gate(space.arch);
    // A child lacks an arena that was mapped after the kernel copied the memory.
    let is_there = |&at: &u64| space.memory.read_array(at) == Some(gate);
    if let Some(at) = space.storages.iter().map(|storage| storage.arena.gate()).find(is_there) {
        return Ok(at);
    }
    let entering = gate.get(..arch::ENTERS as usize).unwrap_or(&gate);
    let mut maps = read_maps(pid)?;
    maps.retain(|mapping| mapping.execute && mapping.read);
    // The vdso always has one.
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
