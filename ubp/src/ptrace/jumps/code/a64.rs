//! Jumps in code of arm64, on any machine.

use insn::Flow;
use insn::arm64::decode;
use trampoline::arm64::{Refusal, Site, Trampoline};

use crate::{Address, NoJump};

/// Makes the trampoline at `at` of a branch that counts.
pub(in crate::ptrace) fn make(site: &Site<'_>, counter: u64, at: u64) -> Result<Trampoline, NoJump> {
    let insn = site.code.get(site.index).and_then(|word| decode(*word).ok());
    match insn.ok_or(NoJump::TrampolineArm64(Refusal::NotCode))?.flow() {
        Flow::Syscall | Flow::Interrupt => Err(NoJump::SystemCall(Address(site.pc))),
        Flow::Trap => Err(NoJump::OwnTrap(Address(site.pc))),
        _ => site.count(counter, at).map_err(NoJump::TrampolineArm64),
    }
}
