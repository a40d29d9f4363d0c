//! What CPUID says of this processor.

use insn::x86::Vendor;

use crate::cpuid;

/// Where CPUID tells of a feature.
struct Feature {
    name: &'static str,
    leaf: u32,
    subleaf: u32,
    /// 0 to 3: eax, ebx, ecx, edx.
    register: usize,
    bit: u32,
}

const fn feature(name: &'static str, leaf: u32, subleaf: u32, register: usize, bit: u32) -> Feature {
    Feature { name, leaf, subleaf, register, bit }
}

/// Features by the names of SDM vol. 2A CPUID, APM vol. 3 appendix E and the ISE reference.
const FEATURES: &[Feature] = &[
    feature("SEP", 1, 0, 3, 11),
    feature("VMX", 1, 0, 2, 5),
    feature("SMX", 1, 0, 2, 6),
    feature("MONITOR", 1, 0, 2, 3),
    feature("OSPKE", 7, 0, 2, 4),
    feature("WAITPKG", 7, 0, 2, 5),
    feature("GFNI", 7, 0, 2, 8),
    feature("VAES", 7, 0, 2, 9),
    feature("VPCLMULQDQ", 7, 0, 2, 10),
    feature("INVPCID", 7, 0, 1, 10),
    feature("CLWB", 7, 0, 1, 24),
    feature("RDPID", 7, 0, 2, 22),
    feature("RTM", 7, 0, 1, 11),
    feature("MPX", 7, 0, 1, 14),
    feature("AVX512F", 7, 0, 1, 16),
    feature("AVX512PF", 7, 0, 1, 26),
    feature("AVX512_4VNNIW", 7, 0, 3, 2),
    feature("AVX512_4FMAPS", 7, 0, 3, 3),
    feature("AVX512ER", 7, 0, 1, 27),
    feature("PREFETCHWT1", 7, 0, 2, 0),
    feature("KL", 7, 0, 2, 23),
    feature("CLDEMOTE", 7, 0, 2, 25),
    feature("MOVDIRI", 7, 0, 2, 27),
    feature("MOVDIR64B", 7, 0, 2, 28),
    feature("ENQCMD", 7, 0, 2, 29),
    feature("SGX", 7, 0, 1, 2),
    feature("UINTR", 7, 0, 3, 5),
    feature("AVX512_VP2INTERSECT", 7, 0, 3, 8),
    feature("SERIALIZE", 7, 0, 3, 14),
    feature("TSXLDTRK", 7, 0, 3, 16),
    feature("PCONFIG", 7, 0, 3, 18),
    feature("AMX_BF16", 7, 0, 3, 22),
    feature("AVX512_FP16", 7, 0, 3, 23),
    feature("AMX_TILE", 7, 0, 3, 24),
    feature("AMX_INT8", 7, 0, 3, 25),
    feature("SHA512", 7, 1, 0, 0),
    feature("SM3", 7, 1, 0, 1),
    feature("SM4", 7, 1, 0, 2),
    feature("RAO_INT", 7, 1, 0, 3),
    feature("AVX_VNNI", 7, 1, 0, 4),
    feature("CMPCCXADD", 7, 1, 0, 7),
    feature("FRED", 7, 1, 0, 17),
    feature("LKGS", 7, 1, 0, 18),
    feature("WRMSRNS", 7, 1, 0, 19),
    feature("AMX_FP16", 7, 1, 0, 21),
    feature("HRESET", 7, 1, 0, 22),
    feature("AVX_IFMA", 7, 1, 0, 23),
    feature("MSRLIST", 7, 1, 0, 27),
    feature("MOVRS", 7, 1, 0, 31),
    feature("PBNDKB", 7, 1, 1, 1),
    feature("AVX_VNNI_INT8", 7, 1, 3, 4),
    feature("AVX_NE_CONVERT", 7, 1, 3, 5),
    feature("AMX_COMPLEX", 7, 1, 3, 8),
    feature("AVX_VNNI_INT16", 7, 1, 3, 10),
    feature("USER_MSR", 7, 1, 3, 15),
    feature("PREFETCHI", 7, 1, 3, 14),
    feature("AVX10", 7, 1, 3, 19),
    feature("APX_F", 7, 1, 3, 21),
    // The version, of which this bit is set in 2 and 3.
    feature("AVX10_2", 0x24, 0, 1, 1),
    feature("AVX10_V2_AUX", 0x24, 1, 2, 3),
    feature("ACE", 7, 1, 2, 11),
    feature("AVX512_BMM", 0x8000_0021, 0, 0, 23),
    feature("AMX_FP8", 0x1e, 1, 0, 4),
    feature("AMX_TRANSPOSE", 0x1e, 1, 0, 5),
    feature("AMX_TF32", 0x1e, 1, 0, 6),
    feature("AMX_AVX512", 0x1e, 1, 0, 7),
    feature("AMX_MOVRS", 0x1e, 1, 0, 8),
    feature("PTWRITE", 0x14, 0, 1, 4),
    feature("SVM", 0x8000_0001, 0, 2, 2),
    feature("SSE4A", 0x8000_0001, 0, 2, 6),
    feature("XOP", 0x8000_0001, 0, 2, 11),
    feature("SKINIT", 0x8000_0001, 0, 2, 12),
    feature("LWP", 0x8000_0001, 0, 2, 15),
    feature("FMA4", 0x8000_0001, 0, 2, 16),
    feature("TBM", 0x8000_0001, 0, 2, 21),
    feature("MONITORX", 0x8000_0001, 0, 2, 29),
    feature("3DNOWEXT", 0x8000_0001, 0, 3, 30),
    feature("3DNOW", 0x8000_0001, 0, 3, 31),
    feature("CLZERO", 0x8000_0008, 0, 1, 0),
    feature("RDPRU", 0x8000_0008, 0, 1, 4),
    feature("MCOMMIT", 0x8000_0008, 0, 1, 8),
    feature("WBNOINVD", 0x8000_0008, 0, 1, 9),
    feature("INVLPGB", 0x8000_0008, 0, 1, 3),
    feature("SEV_ES", 0x8000_001f, 0, 0, 3),
    feature("SNP", 0x8000_001f, 0, 0, 4),
    // VIA's and Zhaoxin's range.
    feature("PADLOCK_RNG", 0xc000_0001, 0, 3, 2),
    feature("PADLOCK_ACE", 0xc000_0001, 0, 3, 6),
];

/// Whether this processor has the feature; `None` where the name is not known here.
pub fn has_feature(name: &str) -> Option<bool> {
    let feature = FEATURES.iter().find(|feature| feature.name == name)?;
    let highest = cpuid(feature.leaf & 0xc000_0000, 0).eax;
    if feature.leaf > highest {
        return Some(false);
    }
    let answer = cpuid(feature.leaf, feature.subleaf);
    let registers = [answer.eax, answer.ebx, answer.ecx, answer.edx];
    Some(registers[feature.register] >> feature.bit & 1 != 0)
}

/// Whose processor this is. Hygon's are AMD's.
pub fn vendor() -> Vendor {
    let leaf = cpuid(0, 0);
    let name = [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes).concat();
    if name == *b"AuthenticAMD" || name == *b"HygonGenuine" { Vendor::Amd } else { Vendor::Intel }
}

/// The processor's family, as CPUID has it (APM vol. 3, Fn0000_0001_EAX).
pub(super) fn family() -> u32 {
    let leaf = cpuid(1, 0).eax;
    let base = leaf >> 8 & 0xf;
    if base == 0xf { base + (leaf >> 20 & 0xff) } else { base }
}
