//! The way back for a thread that makes a system call for the tracer, in case the tracer is killed meanwhile.
//!
//! Code behind the instruction that enters the kernel takes the thread's registers from its stack. The code lies in the page
//! with the handler of `SIGTRAP`; before there is such a page, in the unused end of a mapping of code.

use libc::user_regs_struct;

use super::super::arch;
use super::super::space::Space;
use crate::process::read_maps;
use crate::{Mapping, Pid, Result, Tid};

/// Memory of the debuggee before the tracer wrote to it.
struct Patch {
    at: u64,
    before: Vec<u8>,
}

/// What was written into the debuggee.
pub(super) struct WayBack {
    /// Code that enters the kernel and leads back.
    pub(super) gate: u64,
    patches: Vec<Patch>,
}

impl WayBack {
    /// Prepares the way back of a stopped thread of process `pid`: `registers` are the thread's, and point to the frame on the
    /// stack afterwards; `mask` is its signal mask. `None`: the thread can have no way back.
    pub(super) fn prepare_way(
        space: &Space,
        pid: Pid,
        tid: Tid,
        registers: &mut user_regs_struct,
        mask: u64,
    ) -> Result<Option<WayBack>> {
        let mut led = *registers;
        let Some(frame) = arch::way_back(tid, &mut led, space.arch, mask) else { return Ok(None) };
        let at = crate::arch::sp(&led);
        let mut before = vec![0; frame.len()];
        if space.memory.read(at, &mut before) != before.len() || space.memory.write(at, &frame) != frame.len() {
            return Ok(None);
        }
        let mut way_back = WayBack { gate: 0, patches: vec![Patch { at, before }] };
        let Some((gate, patch)) = gate_with_way_back(space, pid)? else {
            way_back.remove(space);
            return Ok(None);
        };
        way_back.gate = gate;
        way_back.patches.extend(patch);
        *registers = led;
        Ok(Some(way_back))
    }

    /// Restores the debuggee's memory.
    pub(super) fn remove(&self, space: &Space) {
        for Patch { at, before } in &self.patches {
            space.memory.write(*at, before);
        }
    }
}

/// The gate in the page, or one elsewhere with the memory that it replaced, if it was written just now.
fn gate_with_way_back(space: &Space, pid: Pid) -> Result<Option<(u64, Option<Patch>)>> {
    let handler = arch::handler_code(space.arch);
    let (Some(offset), Some(code)) = (handler.gate, handler.gate_code()) else { return Ok(None) };
    let bytes_at = |at: u64| {
        let mut bytes = vec![0; code.len()];
        (space.memory.read(at, &mut bytes) == code.len()).then_some(bytes)
    };
    let in_page = space.trap_handler.map(|page| page + offset);
    if let Some(gate) = in_page.filter(|&gate| bytes_at(gate).as_deref() == Some(code)) {
        return Ok(Some((gate, None)));
    }
    // An arena will not do, because the call may unmap it.
    let stays = |map: &&Mapping| map.execute && map.read && !map.write && !map.shared && map.path.is_some();
    for mapping in read_maps(pid)?.iter().filter(stays) {
        let at = mapping.end.0.saturating_sub(code.len() as u64) & !15;
        match bytes_at(at) {
            // A tracer that was killed left the code, and one of its threads may still be in it.
            Some(before) if before == code => return Ok(Some((at, None))),
            Some(before) if before.iter().all(|&byte| byte == 0) && space.memory.write(at, code) == code.len() => {
                return Ok(Some((at, Some(Patch { at, before }))));
            }
            _ => {}
        }
    }
    Ok(None)
}
