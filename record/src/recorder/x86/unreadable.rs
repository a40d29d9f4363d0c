//! Code that cannot be read.

/// The page of the old system calls, which cannot be read (arch/x86/include/uapi/asm/vsyscall.h).
const VSYSCALL: std::ops::Range<u64> = 0xffff_ffff_ff60_0000..0xffff_ffff_ff60_1000;

/// Whether unreadable code lies at an address.
pub(in crate::recorder) fn is_unreadable(address: u64) -> bool {
    VSYSCALL.contains(&address)
}
