//! AArch64: registers in the channel's layout, and the loader's system calls.

use libc::user_regs_struct;

use crate::arch::Reg;

/// Parses the reply to `registers`; `None` if it has an unknown layout.
pub(super) fn registers(bytes: &[u8]) -> Option<user_regs_struct> {
    // SAFETY: all-zero bytes are a valid value of this plain C struct.
    let mut raw: user_regs_struct = unsafe { std::mem::zeroed() };
    if bytes.len() != size_of::<user_regs_struct>() {
        return None;
    }
    let to = (&raw mut raw).cast::<u8>();
    // SAFETY: the structure consists of words and has as many bytes, which do not overlap `bytes`.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    Some(raw)
}

/// The registers in the layout that `set_registers` takes.
pub(super) fn bytes(raw: &user_regs_struct) -> Vec<u8> {
    let from = (&raw const *raw).cast::<u8>();
    // SAFETY: the structure consists of words and has no padding.
    unsafe { std::slice::from_raw_parts(from, size_of::<user_regs_struct>()) }.to_vec()
}

/// The index of a register's word in the reply to `registers`. The flags have none, because PSTATE contains more than them.
pub(super) fn word(register: Reg) -> Option<u16> {
    match register {
        Reg::SP => Some(31),
        Reg::PC => Some(32),
        _ => register.as_general().filter(|number| *number < 31).map(u16::from),
    }
}

/// Whether the loader maps code a second time to guard it (BTI).
pub(super) fn guards() -> bool {
    crate::ptrace::landing_pads()
}

/// Offsets in the loader's `code` to which its system calls of `mmap` return.
pub(super) fn behind_mmap(code: &[u8]) -> impl Iterator<Item = u64> {
    /// mov x8, #222; svc #0
    const CALL: [u32; 2] = [0xd280_1bc8, 0xd400_0001];
    let bytes = CALL.map(u32::to_le_bytes).concat();
    let pairs = code.windows(8).step_by(4).enumerate();
    pairs.filter(move |(_, pair)| *pair == bytes).map(|(at, _)| 4 * (at as u64 + 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{get, set};

    #[test]
    fn a_register_is_the_word_that_it_says() {
        for register in (0..31).map(Reg::general).chain([Reg::SP, Reg::PC]) {
            let mut raw = registers(&[0; size_of::<user_regs_struct>()]).unwrap();
            assert!(set(&mut raw, register, 7));
            let bytes = bytes(&raw);
            assert_eq!(bytes[8 * usize::from(word(register).unwrap())], 7, "{register}");
            assert_eq!(get(&registers(&bytes).unwrap(), register), Some(7));
        }
        assert_eq!((word(Reg::NZCV), word(Reg::XZR)), (None, None));
    }
}
