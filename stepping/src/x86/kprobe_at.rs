//! What kprobes do at an address of a kernel (kernel/kprobes.c and arch/x86/kernel/kprobes/core.c of Linux 7.3).

use insn::x86::{Insn, Mode, decode};

use super::kprobes::{KprobeDeviation, KprobeRefusal, classify};
use crate::kprobe::{has, within};
use crate::{Kprobe, KprobeKernel};

/// The instruction at which ftrace calls a function, in bytes. A no-operation stands there while nobody traces.
pub(super) const FTRACE_LEN: u64 = 5;
/// `endbr64` and `endbr32`, and what the kernel puts in the place of those that nothing needs (`nopl -42(%rax)`), as little-endian words.
const LANDING_PADS: [u32; 3] = [0xfa1e_0ff3, 0xfb1e_0ff3, 0xd640_1f0f];
/// Their size in bytes.
const LANDING_PAD_LEN: u64 = 4;

/// The place to which a kernel with `CONFIG_X86_KERNEL_IBT` moves a kprobe that is asked for at the first instruction of a function: behind
/// its landing pad. `code` is that of the function, which is at `start`.
pub fn kprobe_address(code: &[u8], start: u64) -> u64 {
    let word = code.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let is_landing_pad = word.is_some_and(|word| LANDING_PADS.contains(&word));
    if is_landing_pad { start.wrapping_add(LANDING_PAD_LEN) } else { start }
}

/// What kprobes do at the address `pc` in a function of the kernel.
///
/// `code` is that of the function, which is at `start`: all from one symbol's address to the next one's. The kernel decodes from there. It is
/// the code that stands in memory, without breakpoints.
pub fn kprobe_at(
    code: &[u8],
    start: u64,
    pc: u64,
    mode: Mode,
    kernel: &KprobeKernel<'_>,
) -> Kprobe<KprobeRefusal, KprobeDeviation> {
    let reserved = [
        (within(kernel.blacklist, pc), KprobeRefusal::Blacklisted),
        (within(kernel.patched, pc), KprobeRefusal::Patched),
        (has(kernel.bugs, pc), KprobeRefusal::Bug),
    ];
    if let Some((_, reason)) = reserved.into_iter().find(|(is_reserved, _)| *is_reserved) {
        return Kprobe::Refused(reason);
    }
    if has(kernel.ftrace, pc) {
        return Kprobe::Traced;
    }
    match insn_at(code, start, pc, mode) {
        Ok(insn) => classify(&insn, !kernel.preemption && !has(kernel.fixups, pc)),
        Err(reason) => Kprobe::Refused(reason),
    }
}

/// The instruction at `pc`, counted from the first one.
fn insn_at(code: &[u8], start: u64, pc: u64, mode: Mode) -> Result<Insn, KprobeRefusal> {
    for (at, insn) in instructions(code, start, mode) {
        match insn {
            None => return Err(KprobeRefusal::Undecodable(at)),
            Some(insn) if at == pc => return Ok(insn),
            Some(_) if at > pc => break,
            Some(_) => {}
        }
    }
    Err(KprobeRefusal::NotAnInstruction)
}

/// Instructions one after another, with their addresses. The last one is `None` where bytes are no instruction.
pub(super) fn instructions(code: &[u8], start: u64, mode: Mode) -> impl Iterator<Item = (u64, Option<Insn>)> {
    let (mut rest, mut at) = (code, start);
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (here, insn) = (at, decode(rest, mode).ok());
        let len = insn.as_ref().map_or(rest.len(), Insn::len);
        rest = rest.get(len..).unwrap_or_default();
        at = at.wrapping_add(len as u64);
        Some((here, insn))
    })
}
