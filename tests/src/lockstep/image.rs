//! The smallest executable: a system call instruction, an `int3`, a `popf` and another `int3`.

use insn::x86::Bits;

/// Where the image lies.
pub(super) const BASE: u64 = 0x40_0000;
const HEADER_64: u64 = 64 + 56;
const HEADER_32: u64 = 52 + 32;
/// Address of the 64-bit image's `int3`: code below 4 GiB for far pointers to name.
pub const INT3_64: u64 = BASE + HEADER_64 + 2;

/// Address of the system call instruction, behind which stands an `int3`.
pub(super) fn entry(bits: Bits) -> u64 {
    BASE + if bits == Bits::B64 { HEADER_64 } else { HEADER_32 }
}

/// Address of the `popf`, behind which stands an `int3`.
pub(super) fn popf(bits: Bits) -> u64 {
    entry(bits) + 3
}

/// An ELF executable of one segment for the mode (System V ABI, chapter 4 and 5).
pub(super) fn elf(bits: Bits) -> Vec<u8> {
    let wide = bits == Bits::B64;
    let mut code: Vec<u8> = if wide { vec![0x0f, 0x05, 0xcc] } else { vec![0xcd, 0x80, 0xcc] };
    code.extend([0x9d, 0xcc]);
    let header = if wide { HEADER_64 } else { HEADER_32 };
    let size = header + code.len() as u64;
    let mut out = vec![0x7f, b'E', b'L', b'F', if wide { 2 } else { 1 }, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let half = |out: &mut Vec<u8>, value: u16| out.extend(value.to_le_bytes());
    let word = |out: &mut Vec<u8>, value: u32| out.extend(value.to_le_bytes());
    let address = |out: &mut Vec<u8>, value: u64| {
        out.extend(&value.to_le_bytes()[..if wide { 8 } else { 4 }]);
    };
    half(&mut out, 2); // ET_EXEC
    half(&mut out, if wide { 62 } else { 3 });
    word(&mut out, 1);
    address(&mut out, entry(bits));
    address(&mut out, if wide { 64 } else { 52 }); // e_phoff
    address(&mut out, 0); // e_shoff
    word(&mut out, 0);
    half(&mut out, if wide { 64 } else { 52 });
    half(&mut out, if wide { 56 } else { 32 });
    half(&mut out, 1);
    half(&mut out, 0);
    half(&mut out, 0);
    half(&mut out, 0);
    word(&mut out, 1); // PT_LOAD
    if wide {
        word(&mut out, 5);
    }
    address(&mut out, 0); // p_offset
    address(&mut out, BASE);
    address(&mut out, BASE);
    address(&mut out, size);
    address(&mut out, size);
    if !wide {
        word(&mut out, 5);
    }
    address(&mut out, 0x1000);
    out.extend(code);
    out
}
