//! The way back for a thread that makes a system call for the tracer, should the tracer be killed meanwhile.
//!
//! Behind the instruction that enters the kernel stands code that takes the thread's registers from its stack. It lies in the page
//! of [`super::answer`]; before there is one, in the unused end of a mapping of code.

use libc::user_regs_struct;

use super::{Tracer, arch};
use crate::process::read_maps;
use crate::{Mapping, Pid, Result, Tid};

/// Memory of the debuggee as it was.
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

impl Tracer {
    /// Prepares the way back of a stopped thread, which goes on with these registers then; `mask` is its signal mask. Nothing where
    /// it can have none.
    pub(super) fn way_back(
        &mut self,
        tid: Tid,
        registers: &mut user_regs_struct,
        mask: u64,
    ) -> Result<Option<WayBack>> {
        let pid = self.thread(tid)?.pid;
        let mut led = *registers;
        let Some(frame) = arch::way_back(tid, &mut led, self.space_of(pid)?.arch, mask) else { return Ok(None) };
        let at = crate::arch::sp(&led);
        let memory = &self.space_of(pid)?.memory;
        let mut before = vec![0; frame.len()];
        if memory.read(at, &mut before) != before.len() || memory.write(at, &frame) != frame.len() {
            return Ok(None);
        }
        let mut patches = vec![Patch { at, before }];
        let Some((gate, patch)) = self.gate_with_way_back(pid)? else {
            self.remove_way_back(pid, &WayBack { gate: 0, patches });
            return Ok(None);
        };
        patches.extend(patch);
        *registers = led;
        Ok(Some(WayBack { gate, patches }))
    }

    /// Puts back what was there.
    pub(super) fn remove_way_back(&self, pid: Pid, way_back: &WayBack) {
        let Ok(space) = self.space_of(pid) else { return };
        for Patch { at, before } in &way_back.patches {
            space.memory.write(*at, before);
        }
    }

    /// The gate in the page, or one elsewhere, and what was there if it was just written.
    fn gate_with_way_back(&self, pid: Pid) -> Result<Option<(u64, Option<Patch>)>> {
        let space = self.space_of(pid)?;
        let answer = arch::answer(space.arch);
        let (Some(offset), Some(code)) = (answer.gate, answer.gate_code()) else { return Ok(None) };
        let there = |at: u64| {
            let mut there = vec![0; code.len()];
            (space.memory.read(at, &mut there) == code.len()).then_some(there)
        };
        if let Some(gate) = space.answer.map(|page| page + offset).filter(|&gate| there(gate).as_deref() == Some(code))
        {
            return Ok(Some((gate, None)));
        }
        // Not in storage, which may be what is to be unmapped.
        let stays = |map: &&Mapping| map.execute && map.read && !map.write && !map.shared && map.path.is_some();
        for mapping in read_maps(pid)?.iter().filter(stays) {
            let at = mapping.end.0.saturating_sub(code.len() as u64) & !15;
            match there(at) {
                // A tracer that was killed left it there, and a thread of its may be in it still.
                Some(before) if before == code => return Ok(Some((at, None))),
                Some(before) if before.iter().all(|&byte| byte == 0) && space.memory.write(at, code) == code.len() => {
                    return Ok(Some((at, Some(Patch { at, before }))));
                }
                _ => {}
            }
        }
        Ok(None)
    }
}
