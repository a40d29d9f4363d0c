//! What the recorder must know about an instruction before it steps over it.
//!
//! The recorder's own actions depend on this alone. The trace has what the processor did.

use insn::x86::Bits;

/// How the recorder must treat an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::recorder) enum Class {
    /// As any other.
    Plain,
    /// It enters the kernel: the thread runs to the stops at entry and exit of the system call.
    Syscall,
    /// It pushes the flags, with the trap flag that stepping sets.
    PushFlags,
    /// It sets the flags. The kernel then takes the stepping's trap flag for the program's.
    PopFlags,
    /// The next instruction may run in the same step.
    WithNext,
}

/// The class of the instruction in `code`.
pub(in crate::recorder) fn class(bytes: &[u8], bits: Option<Bits>) -> Class {
    let is_64_bit = bits == Some(Bits::B64);
    let is_prefix = |byte: u8| {
        matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3)
            || is_64_bit && matches!(byte, 0x40..=0x4f)
    };
    let opcode = bytes.iter().position(|&byte| !is_prefix(byte)).and_then(|at| bytes.get(at..)).unwrap_or_default();
    let extension = |byte: u8| byte >> 3 & 7;
    match *opcode {
        [0x0f, 0x05 | 0x34, ..] | [0xcd, 0x80, ..] => Class::Syscall,
        [0x9c, ..] => Class::PushFlags,
        // popf, iret.
        [0x9d | 0xcf, ..] => Class::PopFlags,
        // pop ss, mov ss.
        [0x17, ..] if !is_64_bit => Class::WithNext,
        [0x8e, modrm, ..] if extension(modrm) == 2 => Class::WithNext,
        // What Linux emulates: sldt, str, sgdt, sidt, smsw.
        [0x0f, 0x00, modrm, ..] if extension(modrm) <= 1 => Class::WithNext,
        [0x0f, 0x01, modrm, ..] if matches!(extension(modrm), 0 | 1 | 4) => Class::WithNext,
        _ => Class::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_do_not_hide_what_needs_care() {
        for (bytes, class_64, class_32) in [
            (&[0x0f, 0x05][..], Class::Syscall, Class::Syscall),
            (&[0xf3, 0x48, 0x0f, 0x05], Class::Syscall, Class::Plain),
            (&[0xcd, 0x80], Class::Syscall, Class::Syscall),
            (&[0xcd, 0x81], Class::Plain, Class::Plain),
            (&[0x66, 0x9c], Class::PushFlags, Class::PushFlags),
            (&[0x48, 0xcf], Class::PopFlags, Class::Plain),
            (&[0x17], Class::Plain, Class::WithNext),
            (&[0x8e, 0xd0], Class::WithNext, Class::WithNext),
            (&[0x8e, 0xd8], Class::Plain, Class::Plain),
            (&[0x0f, 0x01, 0xe0], Class::WithNext, Class::WithNext),
            (&[0x66, 0x66], Class::Plain, Class::Plain),
        ] {
            assert_eq!(
                (class(bytes, Some(Bits::B64)), class(bytes, Some(Bits::B32))),
                (class_64, class_32),
                "{bytes:02x?}"
            );
        }
    }
}
