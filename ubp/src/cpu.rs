//! Features of a processor of x86, as the kernel tells them.

use std::sync::OnceLock;

/// The number of bits of a linear address: 57 with five-level paging, which the kernel shows as the flag `la57`.
pub(crate) fn linear_address_bits() -> u32 {
    static BITS: OnceLock<u32> = OnceLock::new();
    *BITS.get_or_init(|| if has_flag("la57") { 57 } else { 48 })
}

/// Whether threads can have shadow stacks.
pub(crate) fn shadow_stacks() -> bool {
    static HAVE: OnceLock<bool> = OnceLock::new();
    *HAVE.get_or_init(|| has_flag("user_shstk"))
}

pub(crate) fn has_flag(flag: &str) -> bool {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("flags"));
    line.is_some_and(|line| line.split_whitespace().any(|word| word == flag))
}
