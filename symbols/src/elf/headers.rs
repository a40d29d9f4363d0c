//! Reads the headers of an ELF file: its architecture, segments and sections.

use std::fmt;

use insn::x86::{Bits, Vendor};
use object::{Object, elf};

use crate::code::Mode;
use crate::files::{OpenError, Source};

/// The kernel limits the program headers of a program to 64 KiB (`load_elf_phdrs` in fs/binfmt_elf.c), and each takes 32 bytes or more.
const MOST_SEGMENTS: usize = 2048;
/// The largest number of sections. Compilers may give each function of an object file its own section.
const MOST_SECTIONS: usize = 1 << 20;

/// The number of bytes at the start of a file that [`arch`] reads.
pub(super) const IDENTIFICATION: u64 = 20;

/// An ELF file whose headers have been read.
pub(crate) type Parsed<'data> = object::File<'data, &'data Source>;

/// The architecture that a file's code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// 64-bit x86, including x32.
    X86_64,
    /// 32-bit x86.
    I386,
    /// 64-bit Arm.
    Arm64,
}

impl Arch {
    /// The decoder's mode for this architecture. On x86, `vendor` selects the reading of encodings on which vendors differ.
    pub fn mode(self, vendor: Vendor) -> Mode {
        match self {
            Arch::X86_64 => Mode::X86(insn::x86::Mode::new(Bits::B64, vendor)),
            Arch::I386 => Mode::X86(insn::x86::Mode::new(Bits::B32, vendor)),
            Arch::Arm64 => Mode::Arm64,
        }
    }

    /// The architecture's name: `x86_64`, `i386` or `arm64`.
    pub fn name(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86_64",
            Arch::I386 => "i386",
            Arch::Arm64 => "arm64",
        }
    }
}

/// The reason why a file cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum ElfError {
    /// The file cannot be opened.
    Open(OpenError),
    /// The file became shorter after it was opened, or its file system does not answer.
    Unreadable,
    /// The file does not start with the ELF magic number.
    NotElf,
    /// The file starts as an ELF file and is malformed.
    Corrupt(String),
    /// A part of the file takes too much memory.
    TooLarge(String),
    /// The code is for another architecture, given by its name or ELF machine number.
    Foreign(String),
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElfError::Open(error) => write!(f, "{error}"),
            ElfError::Unreadable => f.write_str("the file cannot be read"),
            ElfError::NotElf => f.write_str("not an ELF file"),
            ElfError::Corrupt(what) => write!(f, "corrupt ELF file: {what}"),
            ElfError::TooLarge(what) => f.write_str(what),
            ElfError::Foreign(what) => write!(f, "a file for {what}; supported are x86-64, i386 and arm64"),
        }
    }
}

impl std::error::Error for ElfError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ElfError::Open(error) => Some(error),
            _ => None,
        }
    }
}

/// Reads the headers of a file.
///
/// # Errors
/// The file is malformed, or it has more headers than any real file.
pub(super) fn parse(source: &Source) -> Result<Parsed<'_>, ElfError> {
    let file = Parsed::parse(source).map_err(|error| match source.take_refused().pop_first() {
        Some(what) => ElfError::TooLarge(what),
        None => ElfError::Corrupt(error.to_string()),
    })?;
    let too_many = |count: usize, what| Err(ElfError::Corrupt(format!("{count} {what}")));
    match (file.segments().count(), file.sections().count()) {
        (segments, _) if segments > MOST_SEGMENTS => too_many(segments, "segments"),
        (_, sections) if sections > MOST_SECTIONS => too_many(sections, "sections"),
        _ => Ok(file),
    }
}

/// Returns the architecture that the first [`IDENTIFICATION`] bytes of a file state.
pub(super) fn arch(data: &[u8]) -> Result<Arch, ElfError> {
    let (Some(class), Some(order), Some(machine)) = (data.get(4), data.get(5), data.get(18..20)) else {
        return Err(ElfError::Corrupt("the file ends inside its header".into()));
    };
    let bytes = [machine[0], machine[1]];
    let machine = if *order == elf::ELFDATA2MSB { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
    match (*class, machine) {
        (1 | 2, 62) => Ok(Arch::X86_64),
        (1, 3) => Ok(Arch::I386),
        (2, 183) => Ok(Arch::Arm64),
        (_, 40) => Err(ElfError::Foreign("arm".into())),
        (_, 243) => Err(ElfError::Foreign("risc-v".into())),
        (_, 20 | 21) => Err(ElfError::Foreign("powerpc".into())),
        (_, 22) => Err(ElfError::Foreign("s390".into())),
        (_, 8) => Err(ElfError::Foreign("mips".into())),
        (_, 258) => Err(ElfError::Foreign("loongarch".into())),
        (_, machine) => Err(ElfError::Foreign(format!("ELF machine {machine}"))),
    }
}
