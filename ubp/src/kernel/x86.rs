//! x86-64 and i386: registers in the channel's layout, and the loader's system calls.

use libc::user_regs_struct;

use crate::arch::{Reg, USER32_CS, get, set};

/// 32-bit words of the kernel's `struct user_regs_struct32` (arch/x86/include/asm/user32.h).
const NARROW_WORDS: usize = 17;

/// Parses the reply to `registers`; `None` if it has an unknown layout.
pub(super) fn registers(bytes: &[u8]) -> Option<user_regs_struct> {
    // SAFETY: all-zero bytes are a valid value of this plain C struct.
    let mut raw: user_regs_struct = unsafe { std::mem::zeroed() };
    if bytes.len() == size_of::<user_regs_struct>() {
        let to = (&raw mut raw).cast::<u8>();
        // SAFETY: the structure consists of words and has as many bytes, which do not overlap `bytes`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        return Some(raw);
    }
    if bytes.len() != 4 * NARROW_WORDS {
        return None;
    }
    let mut words = [0; NARROW_WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_ne_bytes(*bytes.first_chunk()?);
    }
    let [bx, cx, dx, si, di, bp, ax, ds, es, fs, gs, orig_ax, ip, cs, flags, sp, ss] = words.map(u64::from);
    (raw.rbx, raw.rcx, raw.rdx, raw.rsi, raw.rdi, raw.rbp, raw.rax) = (bx, cx, dx, si, di, bp, ax);
    (raw.ds, raw.es, raw.fs, raw.gs, raw.orig_rax) = (ds, es, fs, gs, orig_ax);
    (raw.rip, raw.cs, raw.eflags, raw.rsp, raw.ss) = (ip, cs, flags, sp, ss);
    Some(raw)
}

/// The registers in the layout that `set_registers` takes.
pub(super) fn bytes(raw: &user_regs_struct) -> Vec<u8> {
    if raw.cs == USER32_CS {
        let words: [u64; NARROW_WORDS] = [
            raw.rbx,
            raw.rcx,
            raw.rdx,
            raw.rsi,
            raw.rdi,
            raw.rbp,
            raw.rax,
            raw.ds,
            raw.es,
            raw.fs,
            raw.gs,
            raw.orig_rax,
            raw.rip,
            raw.cs,
            raw.eflags,
            raw.rsp,
            raw.ss,
        ];
        return words.iter().flat_map(|word| (*word as u32).to_ne_bytes()).collect();
    }
    let from = (&raw const *raw).cast::<u8>();
    // SAFETY: the structure consists of words and has no padding.
    unsafe { std::slice::from_raw_parts(from, size_of::<user_regs_struct>()) }.to_vec()
}

/// The index of a register's word in the reply to `registers`.
pub(super) fn word(register: Reg) -> Option<u16> {
    // SAFETY: all-zero bytes are a valid value of this plain C struct.
    let mut raw: user_regs_struct = unsafe { std::mem::zeroed() };
    let mark = u64::MAX;
    if !set(&mut raw, register, mark) || get(&raw, register) != Some(mark) {
        return None;
    }
    let at = bytes(&raw).chunks_exact(8).rposition(|word| word == mark.to_ne_bytes())?;
    u16::try_from(at).ok()
}

/// Whether the loader maps code a second time to guard it; only on arm64.
pub(super) fn guards() -> bool {
    false
}

/// Offsets in the loader's `code` to which its system calls of `mmap` return.
pub(super) fn behind_mmap(code: &[u8]) -> impl Iterator<Item = u64> {
    /// mov $9,%eax; syscall
    const CALL: [u8; 7] = [0xb8, 9, 0, 0, 0, 0x0f, 5];
    code.windows(CALL.len()).enumerate().filter(|(_, bytes)| *bytes == CALL).map(|(at, _)| (at + CALL.len()) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_general_register_is_a_word_of_its_own() {
        let words: Vec<u16> = (0..16).filter_map(|number| word(Reg::gpr(number))).collect();
        assert_eq!(words, [10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0]);
        assert_eq!((word(Reg::RIP), word(Reg::FLAGS), word(Reg::vector(0))), (Some(16), Some(18), None));
    }

    #[test]
    fn registers_of_a_32_bit_program_have_their_places() {
        let mut bytes = Vec::new();
        for number in 1..=NARROW_WORDS as u32 {
            bytes.extend(number.to_ne_bytes());
        }
        let raw = registers(&bytes).unwrap();
        assert_eq!((raw.rbx, raw.rax, raw.orig_rax, raw.rip, raw.eflags, raw.rsp, raw.ss), (1, 7, 12, 13, 15, 16, 17));
        assert_eq!(super::bytes(&user_regs_struct { cs: USER32_CS, ..raw })[..52], bytes[..52]);
    }
}
