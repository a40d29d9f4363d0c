//! The registers in the register sets of arm64 (arch/arm64/include/uapi/asm/ptrace.h).

use insn::arm64::Reg;

use crate::registers::Part;
use crate::{Arch, RegisterSet};

impl RegisterSet {
    /// `tpidr_el0`, and `tpidr2_el0` where the processor has it (`NT_ARM_TLS`).
    pub const TLS: RegisterSet = RegisterSet(0x401);
    /// The number of the system call that the thread is in (`NT_ARM_SYSTEM_CALL`).
    pub const SYSTEM_CALL: RegisterSet = RegisterSet(0x404);
    /// SVE's registers (`NT_ARM_SVE`).
    pub const SVE: RegisterSet = RegisterSet(0x405);
    /// The masks of pointer authentication (`NT_ARM_PAC_MASK`).
    pub const PAC_MASK: RegisterSet = RegisterSet(0x406);
    /// The control of tagged addresses (`NT_ARM_TAGGED_ADDR_CTRL`).
    pub const TAGGED_ADDRESSES: RegisterSet = RegisterSet(0x409);
    /// SVE's registers in streaming mode (`NT_ARM_SSVE`).
    pub const STREAMING_SVE: RegisterSet = RegisterSet(0x40b);
    /// SME's matrix (`NT_ARM_ZA`).
    pub const ZA: RegisterSet = RegisterSet(0x40c);
}

/// The register sets that [`vector_parts`] knows.
pub(crate) const VECTOR_SETS: &[RegisterSet] = &[RegisterSet::SVE, RegisterSet::FLOAT, RegisterSet::TLS];

/// Offsets in `struct user_fpsimd_state`.
const FPSIMD_FPSR: usize = 512;
const FPSIMD_FPCR: usize = 516;
/// Offsets in `struct user_sve_header`, and its size.
const VECTOR_LENGTH: usize = 8;
const FLAGS: usize = 12;
const HEADER: usize = 16;
/// `SVE_PT_REGS_SVE`: the set has SVE's registers, because the thread uses them.
const REGS_SVE: u8 = 1;

/// The parts of a register in the register sets of a thread. `image`: the contents of a set, if the thread has it.
pub(crate) fn vector_parts<'a>(
    image: &dyn Fn(RegisterSet) -> Option<&'a [u8]>,
    _: Arch,
    reg: Reg,
) -> Option<Vec<Part>> {
    let part = |set, at: usize, length| Some(vec![Part { set, range: at..at + length, component: 0 }]);
    if reg == Reg::TPIDR {
        image(RegisterSet::TLS)?;
        return part(RegisterSet::TLS, 0, 8);
    }
    let vector = reg.as_vector().map(usize::from);
    let Some(length) = image(RegisterSet::SVE).and_then(vector_length) else {
        let set = RegisterSet::FLOAT;
        return match (vector, reg) {
            (Some(number), _) => part(set, 16 * number, 16),
            (_, Reg::FPSR) => part(set, FPSIMD_FPSR, 4),
            (_, Reg::FPCR) => part(set, FPSIMD_FPCR, 4),
            _ => None,
        };
    };
    let predicate = length / 8;
    let predicates = HEADER + 32 * length;
    let ffr = predicates + 16 * predicate;
    let status = (ffr + predicate).next_multiple_of(16);
    let first = Reg::predicate(0).number();
    let set = RegisterSet::SVE;
    match (vector, reg) {
        (Some(number), _) => part(set, HEADER + number * length, length),
        (_, Reg::FFR) => part(set, ffr, predicate),
        (_, Reg::FPSR) => part(set, status, 4),
        (_, Reg::FPCR) => part(set, status + 4, 4),
        _ if (first..first + 16).contains(&reg.number()) => {
            part(set, predicates + usize::from(reg.number() - first) * predicate, predicate)
        }
        _ => None,
    }
}

/// The length of SVE's vectors in bytes, if the set has them.
fn vector_length(sve: &[u8]) -> Option<usize> {
    let is_used = sve.get(FLAGS)? & REGS_SVE != 0;
    let raw = sve.get(VECTOR_LENGTH..VECTOR_LENGTH + 2)?.try_into().ok()?;
    is_used.then_some(usize::from(u16::from_ne_bytes(raw)))
}

/// Whether a tracer can set a register.
pub(crate) fn is_settable(_: Reg) -> bool {
    true
}

/// Does nothing: the sets have no components.
pub(crate) fn use_component(_: &mut [u8], _: u64) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a register lies, with SVE of 32 bytes in use or not.
    fn place(reg: Reg, is_used: bool) -> Option<(RegisterSet, std::ops::Range<usize>)> {
        let mut sve = vec![0; HEADER];
        sve[VECTOR_LENGTH] = 32;
        sve[FLAGS] = u8::from(is_used);
        let image = |set| (set == RegisterSet::SVE).then_some(sve.as_slice());
        vector_parts(&image, Arch::Arm64, reg).map(|parts| (parts[0].set, parts[0].range.clone()))
    }

    #[test]
    fn vectors_lie_in_the_set_that_the_thread_uses() {
        let (float, sve) = (RegisterSet::FLOAT, RegisterSet::SVE);
        assert_eq!(place(Reg::vector(2), false), Some((float, 32..48)));
        assert_eq!(place(Reg::FPCR, false), Some((float, 516..520)));
        assert_eq!(place(Reg::predicate(1), false), None);
        assert_eq!(place(Reg::vector(2), true), Some((sve, 80..112)));
        assert_eq!(place(Reg::predicate(1), true), Some((sve, 1044..1048)));
        assert_eq!(place(Reg::FFR, true), Some((sve, 1104..1108)));
        assert_eq!(place(Reg::FPSR, true), Some((sve, 1120..1124)));
    }
}
