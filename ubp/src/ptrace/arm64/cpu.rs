//! Features of the processor.

/// Whether pages can be guarded (`HWCAP2_BTI`, arch/arm64/include/uapi/asm/hwcap.h).
pub(crate) fn landing_pads() -> bool {
    const BTI: u64 = 1 << 17;
    // SAFETY: getauxval takes a number.
    (unsafe { libc::getauxval(libc::AT_HWCAP2) }) & BTI != 0
}

/// Whether there are atomic instructions (FEAT_LSE; `HWCAP_ATOMICS`, arch/arm64/include/uapi/asm/hwcap.h).
pub(in crate::ptrace) fn atomics() -> bool {
    const ATOMICS: u64 = 1 << 8;
    // SAFETY: getauxval takes a number.
    (unsafe { libc::getauxval(libc::AT_HWCAP) }) & ATOMICS != 0
}

/// Whether threads can have guarded control stacks (`HWCAP_GCS`, arch/arm64/include/uapi/asm/hwcap.h).
pub(super) fn control_stacks() -> bool {
    const GCS: u64 = 1 << 32;
    // SAFETY: getauxval takes a number.
    (unsafe { libc::getauxval(libc::AT_HWCAP) }) & GCS != 0
}
