/// Size of the code segment: the default operand and address size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Bits {
    /// 16-bit code segment.
    B16 = 0,
    /// 32-bit code segment.
    B32 = 1,
    /// 64-bit mode.
    B64 = 2,
}

/// The vendor, for encodings that Intel and AMD read differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Vendor {
    /// Intel: prefix 66 on near branches is ignored in 64-bit mode, UD0 has a modrm byte, ….
    Intel = 0,
    /// AMD: prefix 66 on near branches shortens the displacement, UD0 has no modrm byte, `lock mov cr0` accesses cr8, ….
    Amd = 1,
}

impl Vendor {
    /// The vendor whose reading a processor follows, by the name that `cpuid` tells in leaf 0 (ebx, edx, ecx). Hygon's processors are AMD's;
    /// all others are taken for Intel's.
    pub fn from_cpuid(name: &[u8; 12]) -> Vendor {
        if matches!(name, b"AuthenticAMD" | b"HygonGenuine") { Vendor::Amd } else { Vendor::Intel }
    }
}

/// How a processor reads code: size of the code segment, vendor, leniency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    /// Size of the code segment.
    pub bits: Bits,
    /// Vendor.
    pub vendor: Vendor,
    /// Accept reserved bits that some of the vendor's processors ignore. On a Zen 4 these are: EVEX.b with registers
    /// where memory would be broadcast and there is neither rounding nor SAE; EVEX.z of instructions that do not mask; W of
    /// VEX `vpermq` and `vpermpd`; the fourth bit of VEX mask registers; EVEX.V' outside 64-bit mode; LOCK before `verw`.
    /// On a Zen 5 it is W of VEX `vpermq` and `vpermpd` alone. On a Zen 3 they are the prefixes of `rdpkru` and `wrpkru`, and
    /// that `rmpupdate` is of 64-bit mode. Intel's Sapphire Rapids ignores none.
    pub lenient: bool,
}

impl Mode {
    /// 64-bit mode, Intel.
    pub const INTEL_64: Mode = Mode::new(Bits::B64, Vendor::Intel);
    /// 64-bit mode, AMD.
    pub const AMD_64: Mode = Mode::new(Bits::B64, Vendor::Amd);
    /// 32-bit code segment, Intel.
    pub const INTEL_32: Mode = Mode::new(Bits::B32, Vendor::Intel);
    /// 32-bit code segment, AMD.
    pub const AMD_32: Mode = Mode::new(Bits::B32, Vendor::Amd);

    /// The mode of this program's own code: 64-bit or 32-bit, as it is compiled; Intel's strict reading.
    ///
    /// Which vendor made the processor is known at run time only, and asking it needs `unsafe`: a caller that can execute `cpuid` sets the
    /// vendor by [`Vendor::from_cpuid`]. It matters for few encodings, of which compilers write none: 66 before near branches, and
    /// instructions that one vendor alone has.
    ///
    /// ```
    /// use insn::x86::{Mode, Vendor};
    ///
    /// let mode = Mode { vendor: Vendor::from_cpuid(b"AuthenticAMD"), ..Mode::host() };
    /// assert_eq!(mode.vendor, Vendor::Amd);
    /// ```
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    pub const fn host() -> Mode {
        if cfg!(target_arch = "x86_64") { Mode::INTEL_64 } else { Mode::INTEL_32 }
    }

    /// A strict mode.
    pub const fn new(bits: Bits, vendor: Vendor) -> Mode {
        Mode { bits, vendor, lenient: false }
    }

    /// This mode with [`Mode::lenient`] set.
    pub const fn lenient(self) -> Mode {
        Mode { lenient: true, ..self }
    }

    /// Whether the vendor's processors ignore the bits of [`Mode::lenient`].
    #[inline]
    pub(super) fn ignores_reserved(self) -> bool {
        self.lenient && self.vendor == Vendor::Amd
    }
}
