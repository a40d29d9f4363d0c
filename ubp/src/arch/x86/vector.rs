//! The registers in an XSAVE area (SDM vol. 1, 13.4), in the standard format, and the register sets of x86.

use insn::x86::Reg;

use crate::registers::Part;
use crate::{Arch, RegisterSet};

impl RegisterSet {
    /// The XSAVE area in the standard format (`NT_X86_XSTATE`).
    pub const XSTATE: RegisterSet = RegisterSet(0x202);
    /// The three TLS descriptors of set_thread_area(2) (`NT_386_TLS`).
    pub const TLS_DESCRIPTORS: RegisterSet = RegisterSet(0x200);
    /// The shadow stack pointer (`NT_X86_SHSTK`).
    pub const SHADOW_STACK: RegisterSet = RegisterSet(0x204);
}

/// The register sets that [`vector_parts`] knows.
pub(crate) const VECTOR_SETS: &[RegisterSet] = &[RegisterSet::XSTATE, RegisterSet::FLOAT];

/// State components, by their bits in XCR0 and `XSTATE_BV`.
mod component {
    pub(super) const X87: u32 = 0;
    pub(super) const SSE: u32 = 1;
    pub(super) const AVX: u32 = 2;
    pub(super) const MASK: u32 = 5;
    pub(super) const ZMM_HIGH: u32 = 6;
    pub(super) const ZMM_16_TO_31: u32 = 7;
    pub(super) const PKRU: u32 = 9;
    pub(super) const TILECFG: u32 = 17;
    pub(super) const TILE: u32 = 18;
    pub(super) const APX: u32 = 19;
}

/// Offsets in the legacy region (SDM vol. 1, table 10-2).
const STATUS_WORD: usize = 2;
const MXCSR: usize = 24;
const X87_REGISTERS: usize = 32;
const XMM: usize = 160;
/// Where the kernel writes XCR0 (`struct xregs_state`'s bytes for software, arch/x86/include/uapi/asm/sigcontext.h).
const XCR0: usize = 464;
/// `XSTATE_BV`, the components that are not in their initial state.
const XSTATE_BV: usize = 512;

/// The parts of a register in the register sets of a thread. `image`: the contents of a set, if the thread has it.
pub(crate) fn vector_parts<'a>(
    image: &dyn Fn(RegisterSet) -> Option<&'a [u8]>,
    arch: Arch,
    reg: Reg,
) -> Option<Vec<Part>> {
    let set = VECTOR_SETS.iter().copied().find(|&set| image(set).is_some())?;
    let bytes = image(set)?;
    let word = |at: usize| bytes.get(at..at + 8).and_then(|raw| raw.try_into().ok()).map_or(0, u64::from_le_bytes);
    let enabled = if set == RegisterSet::XSTATE { word(XCR0) } else { 0b11 };
    let has = |number: u32| enabled >> number & 1 != 0;
    let part = |number: u32, at: usize, length| Part { set, range: at..at + length, component: 1 << number };
    // The `index`th part of a component behind the legacy region.
    let extended = |number: u32, index: u8, length: usize| {
        let at = if has(number) { offset(number) } else { None };
        at.map(|at| part(number, at + usize::from(index) * length, length))
    };
    let number = reg.number();
    let narrow = arch == Arch::I386;
    Some(match number {
        16..32 if !narrow => vec![extended(component::APX, number - 16, 8)?],
        48..64 if !narrow => vec![extended(component::ZMM_16_TO_31, number - 48, 64)?],
        32..48 if !narrow || number < 40 => {
            let index = number - 32;
            let low = part(component::SSE, XMM + 16 * usize::from(index), 16);
            let middle = extended(component::AVX, index, 16);
            let high = middle.as_ref().and_then(|_| extended(component::ZMM_HIGH, index, 32));
            [Some(low), middle, high].into_iter().flatten().collect()
        }
        64..72 => vec![extended(component::MASK, number - 64, 8)?],
        72..80 => {
            // The area has the registers in the order of the stack.
            let top = bytes.get(STATUS_WORD + 1)? >> 3 & 7;
            let index = number.wrapping_sub(72).wrapping_sub(top) & 7;
            vec![part(component::X87, X87_REGISTERS + 16 * usize::from(index), 10)]
        }
        104..112 if !narrow => vec![extended(component::TILE, number - 104, 1024)?],
        _ if reg == Reg::MXCSR => vec![part(component::SSE, MXCSR, 4)],
        _ if reg == Reg::X87 => vec![part(component::X87, 0, MXCSR)],
        _ if reg == Reg::PKRU => vec![extended(component::PKRU, 0, 4)?],
        _ if reg == Reg::TILECFG && !narrow => vec![extended(component::TILECFG, 0, 64)?],
        _ if reg == Reg::XCR0 && set == RegisterSet::XSTATE => {
            vec![Part { set, range: XCR0..XCR0 + 8, component: 0 }]
        }
        _ => return None,
    })
}

/// Whether a tracer can set a register.
pub(crate) fn is_settable(reg: Reg) -> bool {
    reg != Reg::XCR0
}

/// Marks a component of a set as changed from its initial state.
pub(crate) fn use_component(bytes: &mut [u8], component: u64) {
    if let Some(place) = bytes.get_mut(XSTATE_BV..XSTATE_BV + 8) {
        for (byte, more) in place.iter_mut().zip(component.to_le_bytes()) {
            *byte |= more;
        }
    }
}

/// The offset of a component in the standard format (CPUID leaf 0DH, sub-leaf of the component, EBX).
#[allow(unused_unsafe, reason = "__cpuid_count is unsafe in Rust 1.85 and safe in newer versions")]
fn offset(component: u32) -> Option<usize> {
    const LEAF: u32 = 0xd;
    // SAFETY: every x86-64 processor has CPUID; a leaf that it lacks is not asked for.
    let result = unsafe {
        if std::arch::x86_64::__cpuid(0).eax < LEAF {
            return None;
        }
        std::arch::x86_64::__cpuid_count(LEAF, component)
    };
    (result.eax != 0).then_some(result.ebx as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_of_the_stack_are_found_by_their_physical_number() {
        let mut bytes = vec![0; 512];
        // TOP is 6: the register that the area has first is physical register 6.
        bytes[STATUS_WORD + 1] = 6 << 3;
        let parts = |reg| {
            let image = |set| (set == RegisterSet::FLOAT).then_some(bytes.as_slice());
            vector_parts(&image, Arch::X86_64, reg).map(|parts| parts[0].range.clone())
        };
        assert_eq!(parts(Reg::mmx(6)), Some(32..42));
        assert_eq!(parts(Reg::mmx(0)), Some(64..74));
        assert_eq!(parts(Reg::vector(1)), Some(176..192));
        assert_eq!(parts(Reg::MXCSR), Some(24..28));
        assert_eq!(parts(Reg::mask(1)), None, "the set has no such component");
        assert_eq!(parts(Reg::RAX), None);
    }
}
