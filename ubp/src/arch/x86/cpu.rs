//! The decoder mode of this processor.

use insn::x86::{Bits, Mode, Vendor};

use crate::Arch;

/// The decoder mode for code of `arch` on this processor.
pub(crate) fn mode(arch: Arch) -> Mode {
    let bits = if arch == Arch::I386 { Bits::B32 } else { Bits::B64 };
    Mode::new(bits, vendor()).lenient()
}

/// The processor's vendor (CPUID leaf 0).
#[allow(unused_unsafe, reason = "__cpuid is unsafe in Rust 1.85 and safe in newer versions")]
fn vendor() -> Vendor {
    // SAFETY: every x86-64 processor has CPUID.
    let leaf = unsafe { std::arch::x86_64::__cpuid(0) };
    let name = [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes).concat();
    if name == b"AuthenticAMD" || name == b"HygonGenuine" { Vendor::Amd } else { Vendor::Intel }
}
