//! One ELF file with code, and what is known of it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use insn::x86::{Bits, Vendor};
use object::{Object, ReadRef, elf};

use super::frames::{DebugFrames, Functions};
use super::lines::Lines;
use super::segments::{Segment, segments};
use super::table::SymbolTable;
use super::{debug_files, dynamic, frames, ranges};
use crate::code::Mode;
use crate::files::{Identity, OpenError, Opened, Root, Source, open};
use crate::instructions::instructions;
use crate::output::shown;

/// The number of the next image.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The kernel runs no program with more: its program headers may take 64 KiB (`load_elf_phdrs` in fs/binfmt_elf.c), each 32 or more.
const MOST_SEGMENTS: usize = 2048;
/// Compilers give each function of an object file a section.
const MOST_SECTIONS: usize = 1 << 20;

/// Bytes at the beginning that tell the architecture.
const HEADER: u64 = 20;

/// An ELF file whose headers are read.
pub(crate) type Parsed<'data> = object::File<'data, &'data Source>;

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
    /// It cannot be opened.
    Open(OpenError),
    /// It is shorter than when it was opened, or its file system does not answer.
    Unreadable,
    /// It does not begin as an ELF file does.
    NotElf,
    /// It begins as one, but is broken.
    Corrupt(String),
    /// What it has takes too much memory.
    TooLarge(String),
    /// Code of another architecture, by its name or ELF machine number.
    Foreign(String),
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::Open(error) => write!(f, "{error}"),
            ImageError::Unreadable => f.write_str("it cannot be read"),
            ImageError::NotElf => f.write_str("not an ELF file"),
            ImageError::Corrupt(what) => write!(f, "corrupt ELF file: {what}"),
            ImageError::TooLarge(what) => f.write_str(what),
            ImageError::Foreign(what) => write!(f, "a file for {what}; ntrace knows x86-64, i386 and arm64"),
        }
    }
}

/// The file of an image, and where others are looked for that belong to it.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// Its paths are below it.
    pub(crate) root: Root,
    /// The path below the root.
    pub(crate) path: PathBuf,
    /// Which file it is, and which state of it.
    pub(crate) identity: Identity,
}

/// An ELF file. Addresses are the file's own, as `nm` and `objdump` print them; a process adds its bias.
pub(crate) struct Image {
    number: u64,
    path: PathBuf,
    name: String,
    arch: Arch,
    source: Source,
    origin: Option<Origin>,
    build_id: Option<Vec<u8>>,
    segments: Vec<Segment>,
    /// The addresses are those in memory, not offsets from where the file is mapped.
    fixed: bool,
    symbols: OnceCell<SymbolTable>,
    debug: OnceCell<Option<Source>>,
    lines: OnceCell<Option<Lines>>,
    by_exceptions: OnceCell<Functions>,
    debug_frames: OnceCell<Option<DebugFrames>>,
    code: OnceCell<Vec<Range<u64>>>,
    instructions: OnceCell<Vec<u64>>,
    relocated: OnceCell<Vec<u64>>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image").field("path", &self.path).field("arch", &self.arch).finish_non_exhaustive()
    }
}

impl Image {
    /// Opens a file by a path of this process.
    pub(crate) fn open(path: &Path) -> Result<Image, ImageError> {
        let opened = open(path).map_err(ImageError::Open)?;
        let root = Root::own().map_err(ImageError::Open)?;
        Image::read(path.to_path_buf(), &opened, root, opened.path.clone())
    }

    /// Takes an open file. `path` is how it is called; below `root` it is at `place`.
    pub(crate) fn read(path: PathBuf, opened: &Opened, root: Root, place: PathBuf) -> Result<Image, ImageError> {
        let origin = Origin { root, path: place, identity: opened.identity };
        let image = Image::new(path, Source::file(opened), Some(origin))?;
        if !opened.identity.is_settled() {
            // A write of this moment may leave no trace: the code is kept that the symbols are for.
            for segment in image.segments.iter().filter(|segment| segment.execute) {
                image.contents(segment);
            }
        }
        Ok(image)
    }

    /// Takes the bytes of a file; `path` is how it is called.
    pub(crate) fn parse(path: PathBuf, data: Vec<u8>) -> Result<Image, ImageError> {
        Image::new(path, Source::memory(data), None)
    }

    fn new(path: PathBuf, source: Source, origin: Option<Origin>) -> Result<Image, ImageError> {
        let header = (&source).read_bytes_at(0, source.size().min(HEADER)).map_err(|()| ImageError::Unreadable)?;
        if !header.starts_with(&elf::ELFMAG) {
            return Err(ImageError::NotElf);
        }
        let arch = arch(header)?;
        let file = parse(&source)?;
        let segments = segments(&file);
        if let Some(end) = segments.iter().map(|segment| segment.file.end).max()
            && end > source.size()
            && file.kind() != object::ObjectKind::Unknown
            && segments.iter().any(|segment| segment.execute && segment.file.start >= source.size())
        {
            return Err(ImageError::Corrupt(format!("{} bytes of {end} that its headers tell of", source.size())));
        }
        let fixed = file.kind() == object::ObjectKind::Executable;
        let build_id = file.build_id().ok().flatten().map(<[u8]>::to_vec);
        let name = shown(path.file_name().unwrap_or(path.as_os_str()));
        drop(file);
        Ok(Image {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            path,
            name,
            arch,
            source,
            origin,
            build_id,
            segments,
            fixed,
            symbols: OnceCell::new(),
            debug: OnceCell::new(),
            lines: OnceCell::new(),
            by_exceptions: OnceCell::new(),
            debug_frames: OnceCell::new(),
            code: OnceCell::new(),
            instructions: OnceCell::new(),
            relocated: OnceCell::new(),
        })
    }

    /// A number that no other image of this run has.
    pub(crate) fn number(&self) -> u64 {
        self.number
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
    /// The bytes of the file.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }
    /// The file, where it is one.
    pub(crate) fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }
    /// What the linker made of all that is in the file (`NT_GNU_BUILD_ID`), where it did.
    pub(crate) fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }
    /// What could not be read of it and of its debug file since the last time, in words.
    pub(crate) fn take_refused(&self) -> BTreeSet<String> {
        let mut refused = self.source.take_refused();
        refused.extend(self.debug.get().and_then(Option::as_ref).into_iter().flat_map(Source::take_refused));
        refused
    }
    /// Whether it asks for a dynamic loader: what it lacks may come from libraries.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.with_file(dynamic::has_interpreter).unwrap_or(false)
    }
    /// Whether it is a library, as a dynamic loader is, too.
    pub(crate) fn is_library(&self) -> bool {
        self.with_file(dynamic::is_library).unwrap_or(false)
    }
    /// Functions by name and address.
    pub(crate) fn symbols(&self) -> &SymbolTable {
        self.symbols.get_or_init(|| SymbolTable::load(self))
    }
    /// The separate debug file, where there is one.
    pub(crate) fn debug_file(&self) -> Option<&Source> {
        self.debug.get_or_init(|| debug_files::find(self)).as_ref()
    }
    /// Source lines, where there is debug information.
    pub(crate) fn lines(&self) -> Option<&Lines> {
        self.lines.get_or_init(|| Lines::load(self)).as_ref()
    }
    /// The functions of which unwind information for exceptions tells how their frames are left.
    pub(crate) fn by_exceptions(&self) -> &Functions {
        self.by_exceptions.get_or_init(|| frames::by_exceptions(self))
    }
    /// Unwind information for debuggers, where there is some.
    pub(crate) fn debug_frames(&self) -> Option<&DebugFrames> {
        self.debug_frames.get_or_init(|| DebugFrames::load(self)).as_ref()
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
    pub(crate) fn with_file<'a, T>(&'a self, f: impl FnOnce(&Parsed<'a>) -> T) -> Option<T> {
        parse(&self.source).ok().map(|file| f(&file))
    }

    /// How many bytes the file holds from an address on, to the end of its segment.
    pub(crate) fn held_at(&self, address: u64) -> u64 {
        self.segment(address).map_or(0, |(segment, offset)| segment.held(&self.source).saturating_sub(offset))
    }

    /// The bytes of the file from an address on, to the end of what the file holds there.
    pub(crate) fn bytes_at(&self, address: u64) -> Option<&[u8]> {
        let (segment, offset) = self.segment(address)?;
        self.contents(segment).get(usize::try_from(offset).ok()?..)
    }

    fn contents<'a>(&'a self, segment: &'a Segment) -> &'a [u8] {
        let read = || self.source.take(segment.file.start, segment.held(&self.source)).unwrap_or_default();
        segment.contents.get_or_init(read)
    }

    /// So many bytes of the file at an address, as far as its segment goes; no more of it is read for that.
    pub(crate) fn read_at(&self, address: u64, size: u64) -> Option<Cow<'_, [u8]>> {
        let (segment, offset) = self.segment(address)?;
        let size = size.min(segment.held(&self.source).saturating_sub(offset));
        if let Some(all) = segment.contents.get() {
            let start = usize::try_from(offset).ok()?;
            return all.get(start..start.checked_add(usize::try_from(size).ok()?)?).map(Cow::Borrowed);
        }
        let bytes = self.source.look(segment.file.start.checked_add(offset)?, size)?;
        Some(Cow::Owned(bytes.to_vec()))
    }

    /// The segment that holds an address, and how far from its beginning.
    fn segment(&self, address: u64) -> Option<(&Segment, u64)> {
        let inside = |segment: &&Segment| address >= segment.address && address - segment.address < segment.size;
        self.segments.iter().find(inside).map(|segment| (segment, address - segment.address))
    }

    /// The addresses in code that the loader writes to when it maps the file, ascending; what stands there in memory is not the file's.
    pub(crate) fn relocated(&self) -> &[u64] {
        self.relocated.get_or_init(|| {
            let places = |file: &Parsed<'_>| {
                let all = file.dynamic_relocations().into_iter().flatten().map(|(address, _)| address);
                let mut places: Vec<u64> = all.filter(|address| self.is_code(*address)).collect();
                places.sort_unstable();
                places
            };
            self.with_file(places).unwrap_or_default()
        })
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

/// Reads the headers of a file.
///
/// # Errors
/// Where it is broken, or has so many headers that looking through them takes longer than any real file does.
pub(super) fn parse(source: &Source) -> Result<Parsed<'_>, ImageError> {
    let file = Parsed::parse(source).map_err(|error| match source.take_refused().pop_first() {
        Some(what) => ImageError::TooLarge(what),
        None => ImageError::Corrupt(error.to_string()),
    })?;
    let too_many = |count: usize, what| Err(ImageError::Corrupt(format!("{count} {what}")));
    match (file.segments().count(), file.sections().count()) {
        (segments, _) if segments > MOST_SEGMENTS => too_many(segments, "segments"),
        (_, sections) if sections > MOST_SECTIONS => too_many(sections, "sections"),
        _ => Ok(file),
    }
}

fn arch(data: &[u8]) -> Result<Arch, ImageError> {
    let (Some(class), Some(order), Some(machine)) = (data.get(4), data.get(5), data.get(18..20)) else {
        return Err(ImageError::Corrupt("it ends within its header".into()));
    };
    let bytes = [machine[0], machine[1]];
    let machine = if *order == elf::ELFDATA2MSB { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
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
