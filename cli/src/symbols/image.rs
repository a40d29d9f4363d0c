//! One ELF file with code, and what is known of it.

use std::cell::OnceCell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use insn::x86::{Bits, Vendor};
use object::read::elf::{ElfFile, FileHeader};
use object::{Object, ObjectSection, ObjectSegment, SegmentFlags, elf};

use super::lines::Lines;
use super::table::SymbolTable;
use super::{debug_files, ranges};
use crate::code::Mode;
use crate::instructions::instructions;
use crate::output::shown;

/// What the code of a file is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arch {
    /// 64-bit x86, x32 included.
    X86_64,
    /// 32-bit x86.
    I386,
    /// 64-bit Arm.
    Arm64,
}

impl Arch {
    /// How its code is read, on x86 by processors of that vendor.
    pub(crate) fn mode(self, vendor: Vendor) -> Mode {
        match self {
            Arch::X86_64 => Mode::X86(insn::x86::Mode::new(Bits::B64, vendor)),
            Arch::I386 => Mode::X86(insn::x86::Mode::new(Bits::B32, vendor)),
            Arch::Arm64 => Mode::Arm64,
        }
    }
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86_64",
            Arch::I386 => "i386",
            Arch::Arm64 => "arm64",
        }
    }
}

/// Why a file cannot be used.
#[derive(Debug)]
pub(crate) enum ImageError {
    /// It cannot be read.
    Io(io::Error),
    /// It does not begin as an ELF file does.
    NotElf,
    /// It begins as one, but is broken.
    Corrupt(String),
    /// Code of another architecture, by its name or ELF machine number.
    Foreign(String),
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::Io(error) => write!(f, "{error}"),
            ImageError::NotElf => f.write_str("not an ELF file"),
            ImageError::Corrupt(what) => write!(f, "corrupt ELF file: {what}"),
            ImageError::Foreign(what) => write!(f, "a file for {what}; ntrace knows x86-64, i386 and arm64"),
        }
    }
}

/// A part of the file that is mapped.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// Address in the file's own numbering.
    pub(crate) address: u64,
    /// Bytes in memory.
    pub(crate) size: u64,
    /// Where in the file.
    pub(crate) file: Range<u64>,
    /// Holds code.
    pub(crate) execute: bool,
}

/// An ELF file. Addresses are the file's own, as `nm` and `objdump` print them; a process adds its bias.
pub(crate) struct Image {
    path: PathBuf,
    name: String,
    arch: Arch,
    data: Arc<[u8]>,
    segments: Vec<Segment>,
    /// The addresses are those in memory, not offsets from where the file is mapped.
    fixed: bool,
    symbols: OnceCell<SymbolTable>,
    debug: OnceCell<Option<Arc<[u8]>>>,
    lines: OnceCell<Option<Lines>>,
    code: OnceCell<Vec<Range<u64>>>,
    instructions: OnceCell<Vec<u64>>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image").field("path", &self.path).field("arch", &self.arch).finish_non_exhaustive()
    }
}

impl Image {
    /// Reads a file.
    pub(crate) fn open(path: &Path) -> Result<Image, ImageError> {
        let metadata = std::fs::metadata(path).map_err(ImageError::Io)?;
        // A device or pipe may never end.
        if !metadata.is_file() {
            return Err(ImageError::NotElf);
        }
        Image::parse(path.to_path_buf(), std::fs::read(path).map_err(ImageError::Io)?)
    }

    /// Takes the bytes of a file; `path` is how it is called.
    pub(crate) fn parse(path: PathBuf, data: Vec<u8>) -> Result<Image, ImageError> {
        if !data.starts_with(&elf::ELFMAG) {
            return Err(ImageError::NotElf);
        }
        let arch = arch(&data)?;
        let corrupt = |error: object::Error| ImageError::Corrupt(error.to_string());
        let file = object::File::parse(&*data).map_err(corrupt)?;
        let segments = segments(&file);
        if let Some(end) = segments.iter().map(|segment| segment.file.end).max()
            && end > data.len() as u64
            && file.kind() != object::ObjectKind::Unknown
            && segments.iter().any(|segment| segment.execute && segment.file.start >= data.len() as u64)
        {
            return Err(ImageError::Corrupt(format!("{} bytes of {end} that its headers tell of", data.len())));
        }
        let fixed = file.kind() == object::ObjectKind::Executable;
        let name = shown(path.file_name().unwrap_or(path.as_os_str()));
        drop(file);
        Ok(Image {
            path,
            name,
            arch,
            data: data.into(),
            segments,
            fixed,
            symbols: OnceCell::new(),
            debug: OnceCell::new(),
            lines: OnceCell::new(),
            code: OnceCell::new(),
            instructions: OnceCell::new(),
        })
    }

    /// Its path in the eyes of the program that maps it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
    /// The last part of the path.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
    /// What its code is made for.
    pub(crate) fn arch(&self) -> Arch {
        self.arch
    }
    /// What of it is mapped.
    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }
    /// Whether its addresses are those in memory (not position-independent).
    pub(crate) fn is_fixed(&self) -> bool {
        self.fixed
    }
    /// The whole file.
    pub(crate) fn data(&self) -> &Arc<[u8]> {
        &self.data
    }
    /// Whether it asks for a dynamic loader: what it lacks may come from libraries.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.with_file(|file| match file {
            object::File::Elf64(file) => has_interpreter(file),
            object::File::Elf32(file) => has_interpreter(file),
            _ => false,
        })
        .unwrap_or(false)
    }
    /// Functions by name and address.
    pub(crate) fn symbols(&self) -> &SymbolTable {
        self.symbols.get_or_init(|| SymbolTable::load(self))
    }
    /// The separate debug file, where there is one.
    pub(crate) fn debug_file(&self) -> Option<&Arc<[u8]>> {
        self.debug.get_or_init(|| debug_files::find(self)).as_ref()
    }
    /// Source lines, where there is debug information.
    pub(crate) fn lines(&self) -> Option<&Lines> {
        self.lines.get_or_init(|| Lines::load(self)).as_ref()
    }
    /// The ranges that hold instructions and nothing else, by address.
    pub(crate) fn code(&self) -> &[Range<u64>] {
        self.code.get_or_init(|| ranges::code(self))
    }

    /// The addresses of the instructions in [`Image::code`], ascending; `mode` is asked the first time.
    pub(crate) fn instructions(&self, mode: fn(&Image) -> Mode) -> &[u64] {
        self.instructions.get_or_init(|| instructions(self, mode(self)))
    }

    /// Runs `f` with the parsed file.
    pub(crate) fn with_file<T>(&self, f: impl FnOnce(&object::File<'_>) -> T) -> Option<T> {
        object::File::parse(&*self.data).ok().map(|file| f(&file))
    }

    /// The bytes of the file from an address on, to the end of what the file holds there.
    pub(crate) fn bytes_at(&self, address: u64) -> Option<&[u8]> {
        let inside = |segment: &&Segment| address >= segment.address && address - segment.address < segment.size;
        let segment = self.segments.iter().find(inside)?;
        let start = segment.file.start.checked_add(address - segment.address)?;
        let end = segment.file.end.min(self.data.len() as u64);
        self.data.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    /// Whether an address lies in mapped code.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.segments.iter().any(|s| s.execute && address >= s.address && address - s.address < s.size)
    }

    /// Behind the last mapped byte.
    pub(crate) fn end(&self) -> u64 {
        self.segments.iter().map(|segment| segment.address.saturating_add(segment.size)).max().unwrap_or(0)
    }

    /// What is added to the file's addresses where the file's `offset` is mapped as code at `start`.
    pub(crate) fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        let page = |value: u64| value & !0xfff;
        let holds = |segment: &&Segment| page(segment.file.start) <= offset && offset < segment.file.end;
        let segment = self.segments.iter().filter(|s| s.execute).find(holds)?;
        // In memory, file offset `offset` stands for this address of the file's.
        let address = segment.address.wrapping_sub(segment.file.start).wrapping_add(offset);
        Some(start.wrapping_sub(address))
    }
}

fn arch(data: &[u8]) -> Result<Arch, ImageError> {
    let (Some(class), Some(order), Some(machine)) = (data.get(4), data.get(5), data.get(18..20)) else {
        return Err(ImageError::Corrupt("it ends within its header".into()));
    };
    let bytes = [machine[0], machine[1]];
    let machine = if *order == elf::ELFDATA2MSB.0 { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
    match (*class, machine) {
        (1 | 2, 62) => Ok(Arch::X86_64),
        (1, 3) => Ok(Arch::I386),
        (2, 183) => Ok(Arch::Arm64),
        (_, 40) => Err(ImageError::Foreign("arm".into())),
        (_, 243) => Err(ImageError::Foreign("risc-v".into())),
        (_, 20 | 21) => Err(ImageError::Foreign("powerpc".into())),
        (_, 22) => Err(ImageError::Foreign("s390".into())),
        (_, 8) => Err(ImageError::Foreign("mips".into())),
        (_, 258) => Err(ImageError::Foreign("loongarch".into())),
        (_, machine) => Err(ImageError::Foreign(format!("ELF machine {machine}"))),
    }
}

/// The loaded segments; the code sections of a file that has none (an object file).
fn segments(file: &object::File<'_>) -> Vec<Segment> {
    let load = |segment: object::Segment<'_, '_>| {
        let (start, size) = segment.file_range();
        let execute = match segment.flags() {
            SegmentFlags::Elf { p_flags, .. } => p_flags.contains(elf::PF_X),
            _ => false,
        };
        held(segment.address(), segment.size(), start, size, execute)
    };
    let segments: Vec<Segment> = file.segments().map(load).collect();
    if !segments.is_empty() {
        return segments;
    }
    let code = |section: object::Section<'_, '_>| {
        let (start, size) = section.file_range()?;
        let execute = section.kind() == object::SectionKind::Text;
        execute.then(|| held(section.address(), size, start, size, execute))
    };
    file.sections().filter_map(code).collect()
}

/// A segment of which no address is too large, and the file holds no more than there is in memory.
fn held(address: u64, size: u64, start: u64, in_file: u64, execute: bool) -> Segment {
    let size = size.min(u64::MAX - address);
    Segment { address, size, file: start..start.saturating_add(in_file.min(size)), execute }
}

fn has_interpreter<H: FileHeader>(file: &ElfFile<'_, H>) -> bool {
    use object::read::elf::ProgramHeader;
    file.elf_program_headers().iter().any(|header| header.p_type(file.endian()) == elf::PT_INTERP)
}
