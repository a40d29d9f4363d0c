//! Registers outside of the general ones, by name.

use std::fmt;

use super::part::Part;
use crate::arch::{self, Reg};
use crate::{Arch, RegisterSet};

/// The contents of one register set.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) set: RegisterSet,
    pub(crate) bytes: Vec<u8>,
    pub(crate) changed: bool,
}

/// The floating-point, vector and mask registers of a thread, and others that are not general ones, as the program sees them.
///
/// On x86 these are `zmm` (all that the processor has of it; `xmm` and `ymm` are its first 16 and 32 bytes), `k`, `mm` (10 bytes: the
/// x87 register of that physical number, with the MMX register in the first 8), [`Reg::X87`](insn::x86::Reg::X87) (the first 24 bytes of
/// `FXSAVE`), `mxcsr`, `pkru`, `xcr0` (which cannot be set), `tmm`, `tilecfg` and `r16` to `r31`. On arm64 they are `z` (16 bytes, the
/// register `v`, while the thread does not use SVE), `p`, `ffr`, `fpsr`, `fpcr` and `tpidr_el0`.
#[derive(Clone, PartialEq, Eq)]
pub struct VectorRegisters {
    pub(crate) arch: Arch,
    pub(crate) images: Vec<Image>,
}

impl VectorRegisters {
    /// The value of a register, its lowest byte first; `None` if the thread does not have it, or if it is a general register.
    pub fn get(&self, reg: Reg) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        for part in arch::vector_parts(&|set| self.image(set), self.arch, reg)? {
            value.extend_from_slice(self.image(part.set)?.get(part.range)?);
        }
        Some(value)
    }

    /// Sets a register to a value of the length that [`VectorRegisters::get`] tells. Returns `false`, and changes nothing, for a value of
    /// another length and for a register that the thread does not have.
    pub fn set(&mut self, reg: Reg, value: &[u8]) -> bool {
        let Some(parts) = arch::vector_parts(&|set| self.image(set), self.arch, reg) else { return false };
        let inside = |part: &Part| self.image(part.set).is_some_and(|image| part.range.end <= image.len());
        let length: usize = parts.iter().map(|part| part.range.len()).sum();
        if length != value.len() || !parts.iter().all(inside) || !arch::is_settable(reg) {
            return false;
        }
        let mut rest = value;
        for part in parts {
            let (head, tail) = rest.split_at(part.range.len().min(rest.len()));
            rest = tail;
            let Some(image) = self.images.iter_mut().find(|image| image.set == part.set) else { return false };
            if let Some(place) = image.bytes.get_mut(part.range) {
                place.copy_from_slice(head);
            }
            arch::use_component(&mut image.bytes, part.component);
            image.changed = true;
        }
        true
    }

    /// The registers that the thread has.
    pub fn names(&self) -> impl Iterator<Item = Reg> {
        (0..128).map(Reg::from_number).filter(|&reg| self.get(reg).is_some())
    }

    fn image(&self, set: RegisterSet) -> Option<&[u8]> {
        self.images.iter().find(|image| image.set == set).map(|image| image.bytes.as_slice())
    }
}

impl fmt::Debug for VectorRegisters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("VectorRegisters");
        for reg in self.names() {
            let digits: String = self.get(reg).iter().flatten().rev().map(|byte| format!("{byte:02x}")).collect();
            out.field(&reg.to_string(), &format_args!("0x{digits}"));
        }
        out.finish()
    }
}
