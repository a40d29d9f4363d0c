//! An ELF file with all that is computed from it. Each part is computed when it is first needed.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use object::Object;

use super::blocks::blocks;
use super::file::Elf;
use super::frames::{DebugFrames, ExceptionFrames, Functions};
use super::headers::ElfError;
use super::instructions::instructions;
use super::lines::Lines;
use super::static_probes::{self, StaticProbe};
use super::table::SymbolTable;
use super::unwind_rules::{self, UnwindRules};
use super::{debug_files, ranges};
use crate::code::Mode;
use crate::files::{Fetch, Opened, Root, Source};
use crate::types::{CallSite, Function, Linkage, Scope, TypeError, Types};

/// The number of the next image.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// An ELF file with its symbols, source lines, unwind information and instructions.
pub struct Image {
    number: u64,
    elf: Elf,
    is_go: OnceCell<bool>,
    symbols: OnceCell<SymbolTable>,
    debug: OnceCell<Option<Source>>,
    fetch: OnceCell<Fetch>,
    fetched: OnceCell<Option<Source>>,
    lines: OnceCell<Option<Lines>>,
    types: OnceCell<Option<Types>>,
    by_exceptions: OnceCell<ExceptionFrames>,
    debug_frames: OnceCell<Option<DebugFrames>>,
    code: OnceCell<Vec<Range<u64>>>,
    instructions: OnceCell<Vec<u64>>,
    blocks: OnceCell<Vec<u64>>,
    relocated: OnceCell<Vec<u64>>,
    static_probes: OnceCell<Vec<StaticProbe>>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image").field("elf", &self.elf).finish_non_exhaustive()
    }
}

impl Deref for Image {
    type Target = Elf;

    /// The file itself.
    fn deref(&self) -> &Elf {
        &self.elf
    }
}

impl Image {
    /// Opens a file by a path of this process.
    pub fn open(path: &Path) -> Result<Image, ElfError> {
        Elf::open(path).map(Image::new)
    }

    /// Opens a file by its path in this process' file tree, below the root of a process that mapped it: symbolic links do not leave that root.
    pub fn open_below(root: &Root, path: &Path) -> Result<Image, ElfError> {
        let below = root.path_below(path);
        let opened = root.open(&below).map_err(ElfError::Open)?;
        Image::read(path.to_path_buf(), &opened, root.clone(), below)
    }

    /// Reads an open file. `path` is the file's name in messages; `below` is its path below `root`.
    pub(crate) fn read(path: PathBuf, opened: &Opened, root: Root, below: PathBuf) -> Result<Image, ElfError> {
        Elf::read(path, opened, root, below).map(Image::new)
    }

    /// Reads the bytes of a file that is in memory. `path` is the file's name in messages.
    pub fn parse(path: PathBuf, data: Vec<u8>) -> Result<Image, ElfError> {
        Elf::parse(path, data).map(Image::new)
    }

    fn new(elf: Elf) -> Image {
        Image {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            elf,
            is_go: OnceCell::new(),
            symbols: OnceCell::new(),
            debug: OnceCell::new(),
            fetch: OnceCell::new(),
            fetched: OnceCell::new(),
            lines: OnceCell::new(),
            types: OnceCell::new(),
            by_exceptions: OnceCell::new(),
            debug_frames: OnceCell::new(),
            code: OnceCell::new(),
            instructions: OnceCell::new(),
            blocks: OnceCell::new(),
            relocated: OnceCell::new(),
            static_probes: OnceCell::new(),
        }
    }

    /// A number that no other image of this run has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Messages about parts of the file and of its debug file that were not read since the last call.
    pub fn take_refused(&self) -> BTreeSet<String> {
        let mut refused = self.source().take_refused();
        let apart = [self.debug.get(), self.fetched.get()].into_iter().flatten().flatten();
        refused.extend(apart.flat_map(Source::take_refused));
        refused
    }

    /// Functions by name and address.
    pub fn symbols(&self) -> &SymbolTable {
        self.symbols.get_or_init(|| {
            let debug = if self.is_stripped() { self.debug_file_from_anywhere() } else { self.debug_file() };
            SymbolTable::load(&self.elf, debug)
        })
    }

    /// Whether the file has the runtime of Go.
    pub fn is_go(&self) -> bool {
        // Every goroutine returns to this function.
        let is_runtime = |name: &str| matches!(name, "runtime.goexit" | "runtime.goexit.abi0");
        *self.is_go.get_or_init(|| self.symbols().iter().any(|symbol| is_runtime(symbol.name)))
    }

    /// Fetches the debug file where the image needs one and this machine has none. The first call counts, and only for what was not asked of
    /// the image before.
    pub fn fetch_by(&self, fetch: Fetch) {
        let _ = self.fetch.set(fetch);
    }

    /// The separate debug file, if this machine has one.
    fn debug_file(&self) -> Option<&Source> {
        self.debug.get_or_init(|| debug_files::find(&self.elf)).as_ref()
    }

    /// The separate debug file, fetched if this machine has none.
    fn debug_file_from_anywhere(&self) -> Option<&Source> {
        let fetched = || self.fetch.get().and_then(|fetch| debug_files::fetch(&self.elf, fetch));
        self.debug_file().or_else(|| self.fetched.get_or_init(fetched).as_ref())
    }

    /// Whether the file has no table of all its symbols.
    fn is_stripped(&self) -> bool {
        self.elf.with_file(|file| file.section_by_name(".symtab").is_none()).unwrap_or(true)
    }

    /// Source lines, if there is debug information.
    pub fn lines(&self) -> Option<&Lines> {
        self.lines.get_or_init(|| Lines::load(&self.elf, || self.debug_file_from_anywhere(), self.fetch.get())).as_ref()
    }

    /// Types and functions, if there is debug information.
    pub fn types(&self) -> Option<&Types> {
        self.types.get_or_init(|| self.lines()?.dwarf().map(Types::new)).as_ref()
    }

    /// The function whose first instruction is at an address in the file, if debug information describes it.
    ///
    /// # Errors
    /// The debug information of the function is malformed.
    pub fn function(&self, address: u64) -> Result<Option<Rc<Function>>, TypeError> {
        let unit = self.lines().and_then(|lines| lines.unit(address));
        // gcc marks its copies of functions so: with other parameters, for constant parameters, and parts.
        let is_copy = |name: &str| [".isra.", ".constprop.", ".part."].iter().any(|mark| name.contains(mark));
        match (unit, self.types()) {
            (Some(unit), Some(types)) => {
                let copy = self.symbols().at(address).any(|symbol| is_copy(symbol.name));
                let global = self.symbols().at(address).any(|symbol| symbol.global);
                types.function(unit, address, Linkage { copy, global })
            }
            _ => Ok(None),
        }
    }

    /// What is in scope at an address in the file, which may be any instruction of a function. `None`: no debug information describes the code.
    ///
    /// # Errors
    /// The debug information of the function is malformed, or its blocks are nested deeper than 128 times.
    pub fn scope(&self, address: u64) -> Result<Option<Rc<Scope>>, TypeError> {
        match (self.lines().and_then(|lines| lines.unit(address)), self.types()) {
            (Some(unit), Some(types)) => types.scope(unit, address),
            _ => Ok(None),
        }
    }

    /// What the call before a return address in the file gave. `None`: debug information does not tell it.
    pub(crate) fn call_site(&self, return_address: u64) -> Option<Rc<CallSite>> {
        let unit = self.lines()?.unit(return_address.wrapping_sub(1))?;
        self.types()?.call_site(unit, return_address).ok().flatten()
    }

    /// Whether the function whose first instruction is at an address in the file may begin anew by a jump, without a call.
    pub(crate) fn may_begin_anew(&self, start: u64) -> bool {
        let (Some(lines), Some(types)) = (self.lines(), self.types()) else { return true };
        let find = |name: &str| {
            let named = self.symbols().iter().filter(|symbol| symbol.name == name && symbol.has_code());
            named.filter_map(|symbol| Some((lines.unit(symbol.address)?, symbol.address))).collect()
        };
        lines.unit(start).is_none_or(|unit| types.may_begin_anew(unit, start, &find).unwrap_or(true))
    }

    /// The static probes that the file declares for tracers (USDT), by address.
    pub fn static_probes(&self) -> &[StaticProbe] {
        self.static_probes.get_or_init(|| static_probes::read(&self.elf))
    }

    /// The functions that `.eh_frame` describes.
    pub(crate) fn by_exceptions(&self) -> &Functions {
        &self.exception_frames().functions
    }

    fn exception_frames(&self) -> &ExceptionFrames {
        self.by_exceptions.get_or_init(|| ExceptionFrames::load(&self.elf))
    }

    /// How the registers of the caller are found at an address in the file. `None`: no unwind information describes the code.
    pub(crate) fn unwind_rules(&self, address: u64) -> Option<UnwindRules> {
        unwind_rules::at(self.arch(), self.exception_frames(), self.debug_frames(), address)
    }

    /// The unwind information for debuggers, `.debug_frame`, if there is any.
    pub(crate) fn debug_frames(&self) -> Option<&DebugFrames> {
        self.debug_frames.get_or_init(|| DebugFrames::load(&self.elf, || self.debug_file())).as_ref()
    }

    /// The ranges of addresses that contain only instructions, ascending.
    pub fn code(&self) -> &[Range<u64>] {
        self.code.get_or_init(|| ranges::code(&self.elf, self.symbols(), self.by_exceptions()))
    }

    /// The whole code sections. They serve for a file that does not describe its functions.
    pub fn text_sections(&self) -> Vec<Range<u64>> {
        ranges::text_sections(&self.elf)
    }

    /// Whether unwind information describes the code at an address in the file.
    pub fn is_described(&self, address: u64) -> bool {
        let by_debug = || self.debug_frames().is_some_and(|frames| frames.functions.hold(address));
        self.by_exceptions().hold(address) || by_debug()
    }

    /// The addresses of the instructions in [`Image::code`], ascending. `mode` is called only the first time.
    pub fn instructions(&self, mode: fn(&Image) -> Mode) -> &[u64] {
        self.instructions.get_or_init(|| instructions(&self.elf, self.code(), mode(self)))
    }

    /// The addresses at which basic blocks begin in [`Image::code`], ascending. A block ends where the next one begins, or where the code ends.
    /// If the first instruction of a block is executed, all of them are, unless a signal or a fault ends the thread there.
    ///
    /// A block begins where a function does, at the target of a direct branch, and after each branch, call and return. What an indirect jump
    /// leads to begins a source line: in a function with such a jump each source line begins a block. Without source lines a block may have
    /// an entrance in its middle there. `mode` is called only the first time that instructions are asked for.
    pub fn blocks(&self, mode: fn(&Image) -> Mode) -> &[u64] {
        let lines = |range| match self.lines() {
            Some(lines) => lines.rows(range).iter().map(|row| row.addresses.start).collect(),
            None => Vec::new(),
        };
        self.blocks.get_or_init(|| blocks(&self.elf, self.code(), self.instructions(mode), mode(self), lines))
    }

    /// The addresses in code that the loader changes when it maps the file, ascending. Memory differs from the file there.
    pub(crate) fn relocated(&self) -> &[u64] {
        self.relocated.get_or_init(|| self.find_relocated())
    }
}
