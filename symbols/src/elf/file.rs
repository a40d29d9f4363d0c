//! One ELF file: its bytes, segments and addresses.

use std::borrow::Cow;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::{Object, ObjectKind, ObjectSymbol, ReadRef, elf};

use super::dynamic::{self, Needed};
use super::headers::{Arch, ElfError, IDENTIFICATION, Parsed, arch, parse};
use super::segments::{Segment, segments};
use super::thread_local::{self, ThreadLocal};
use crate::files::{Identity, Opened, Root, Source, open};
use crate::text::utf8;

/// The file that an [`Elf`] was read from. Debug files are searched relative to it.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// The directory below which the paths of this file and of its debug files are resolved.
    pub(crate) root: Root,
    /// The path below the root.
    pub(crate) path: PathBuf,
    /// The file's identity when it was opened.
    pub(crate) identity: Identity,
}

/// An ELF file. Its addresses are the file's own, as `nm` and `objdump` print them; a process adds its bias.
pub struct Elf {
    path: PathBuf,
    name: String,
    arch: Arch,
    source: Source,
    origin: Option<Origin>,
    build_id: Option<Vec<u8>>,
    segments: Vec<Segment>,
    /// Whether addresses in the file equal addresses in memory.
    fixed: bool,
}

impl fmt::Debug for Elf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elf").field("path", &self.path).field("arch", &self.arch).finish_non_exhaustive()
    }
}

impl Elf {
    /// Opens a file by a path of this process.
    pub(super) fn open(path: &Path) -> Result<Elf, ElfError> {
        let opened = open(path).map_err(ElfError::Open)?;
        let root = Root::own().map_err(ElfError::Open)?;
        Elf::read(path.to_path_buf(), &opened, root, opened.path.clone())
    }

    /// Reads an open file. `path` is the file's name in messages; `below` is its path below `root`.
    pub(super) fn read(path: PathBuf, opened: &Opened, root: Root, below: PathBuf) -> Result<Elf, ElfError> {
        let origin = Origin { root, path: below, identity: opened.identity };
        let elf = Elf::new(path, Source::file(opened), Some(origin))?;
        if !opened.identity.is_settled() {
            // A write at this moment may not change the file's times. The code is read now, so that it matches the symbols.
            for segment in elf.segments.iter().filter(|segment| segment.execute) {
                elf.contents(segment);
            }
        }
        Ok(elf)
    }

    /// Reads the bytes of a file that is in memory. `path` is the file's name in messages.
    pub(super) fn parse(path: PathBuf, data: Vec<u8>) -> Result<Elf, ElfError> {
        Elf::new(path, Source::memory(data), None)
    }

    fn new(path: PathBuf, source: Source, origin: Option<Origin>) -> Result<Elf, ElfError> {
        let start = (&source).read_bytes_at(0, source.size().min(IDENTIFICATION)).map_err(|()| ElfError::Unreadable)?;
        if !start.starts_with(&elf::ELFMAG) {
            return Err(ElfError::NotElf);
        }
        let arch = arch(start)?;
        let file = parse(&source)?;
        let segments = segments(&file);
        let end = segments.iter().map(|segment| segment.file.end).max().unwrap_or(0);
        let lacks_code = || segments.iter().any(|segment| segment.execute && segment.file.start >= source.size());
        if end > source.size() && file.kind() != ObjectKind::Unknown && lacks_code() {
            return Err(ElfError::Corrupt(format!("{} bytes of the {end} that its headers state", source.size())));
        }
        let fixed = file.kind() == ObjectKind::Executable;
        let build_id = file.build_id().ok().flatten().map(<[u8]>::to_vec);
        let name = utf8(path.file_name().unwrap_or(path.as_os_str()).as_bytes()).into_owned();
        drop(file);
        Ok(Elf { path, name, arch, source, origin, build_id, segments, fixed })
    }

    /// The file's path as the program that maps it sees it.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// The last component of the path.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The architecture of the code.
    pub fn arch(&self) -> Arch {
        self.arch
    }
    /// The parts of the file that are mapped.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }
    /// Whether addresses in the file equal addresses in memory: the file is not position-independent.
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }
    /// The bytes of the file.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }
    /// The file on disk. `None` for an image that was read from memory.
    pub(crate) fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }
    /// The build id (`NT_GNU_BUILD_ID`), if the linker wrote one.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }
    /// Whether the file names a dynamic loader, which may add libraries.
    pub fn is_dynamic(&self) -> bool {
        self.with_file(dynamic::has_interpreter).unwrap_or(false)
    }
    /// Whether the file is a library. A dynamic loader is one.
    pub fn is_library(&self) -> bool {
        self.with_file(dynamic::is_library).unwrap_or(false)
    }

    /// The libraries with which the loader links the file.
    pub fn needed(&self) -> Needed {
        self.with_file(dynamic::needed).unwrap_or_default()
    }

    /// The address of the function that other modules find by a name: in the table of dynamic symbols. A file without that table is linked to no
    /// library, and all its symbols count. Only the headers and that table are read, unlike for [`Image::symbols`](crate::Image::symbols).
    pub fn exported(&self, name: &str) -> Option<u64> {
        let find = |file: &Parsed<'_>| {
            let is_static = file.dynamic_symbols().next().is_none();
            let mut all = if is_static { file.symbols() } else { file.dynamic_symbols() };
            all.find(|symbol| symbol.is_definition() && symbol.name_bytes() == Ok(name.as_bytes()))
                .map(|symbol| symbol.address())
        };
        self.with_file(find).flatten().filter(|address| self.is_code(*address))
    }

    /// Where a variable lies of which each thread has its own, by the address of its symbol ([`Kind::ThreadLocal`](super::Kind::ThreadLocal)).
    /// `None`: the file does not tell.
    pub fn thread_local(&self, address: u64) -> Option<ThreadLocal> {
        self.with_file(|file| thread_local::find(file, self.arch, address)).flatten()
    }

    /// Runs `f` with the parsed file.
    pub(crate) fn with_file<'a, T>(&'a self, f: impl FnOnce(&Parsed<'a>) -> T) -> Option<T> {
        parse(&self.source).ok().map(|file| f(&file))
    }

    /// The number of bytes that the file holds from an address to the end of its segment.
    pub(crate) fn held_at(&self, address: u64) -> u64 {
        self.segment(address).map_or(0, |(segment, offset)| segment.held(&self.source).saturating_sub(offset))
    }

    /// The bytes of the file from an address to the end of its segment.
    pub fn bytes_at(&self, address: u64) -> Option<&[u8]> {
        let (segment, offset) = self.segment(address)?;
        self.contents(segment).get(usize::try_from(offset).ok()?..)
    }

    fn contents<'a>(&'a self, segment: &'a Segment) -> &'a [u8] {
        let read = || self.source.take(segment.file.start, segment.held(&self.source)).unwrap_or_default();
        segment.contents.get_or_init(read)
    }

    /// At most `size` bytes of the file at an address, up to the end of its segment. The rest of the segment is not read.
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

    /// The segment that contains an address, and the address' offset in it.
    fn segment(&self, address: u64) -> Option<(&Segment, u64)> {
        let inside = |segment: &&Segment| address >= segment.address && address - segment.address < segment.size;
        self.segments.iter().find(inside).map(|segment| (segment, address - segment.address))
    }

    /// Whether an address is in a code segment.
    pub fn is_code(&self, address: u64) -> bool {
        self.segments.iter().any(|s| s.execute && address >= s.address && address - s.address < s.size)
    }

    /// The addresses in code that the loader changes when it maps the file, ascending. Memory differs from the file there.
    pub(super) fn find_relocated(&self) -> Vec<u64> {
        let relocated = |file: &Parsed<'_>| {
            let all = file.dynamic_relocations().into_iter().flatten().map(|(address, _)| address);
            let mut addresses: Vec<u64> = all.filter(|address| self.is_code(*address)).collect();
            addresses.sort_unstable();
            addresses
        };
        self.with_file(relocated).unwrap_or_default()
    }

    /// The address behind the last mapped byte.
    pub fn end(&self) -> u64 {
        self.segments.iter().map(|segment| segment.address.saturating_add(segment.size)).max().unwrap_or(0)
    }

    /// The difference between addresses in memory and in the file, if the file's `offset` is mapped as code at `start`.
    pub fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        let page = |value: u64| value & !0xfff;
        let holds = |segment: &&Segment| page(segment.file.start) <= offset && offset < segment.file.end;
        let segment = self.segments.iter().filter(|s| s.execute).find(holds)?;
        let address = segment.address.wrapping_sub(segment.file.start).wrapping_add(offset);
        Some(start.wrapping_sub(address))
    }
}
