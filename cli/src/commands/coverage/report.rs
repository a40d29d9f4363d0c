//! Computes which lines, functions and blocks of each module a run executed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use serde::Serialize;
use ubp_symbols::{Image, Kind};

use crate::follow::{Covered, CoveredImage};
use crate::output::shown;

/// The coverage of all modules. The field names are the keys of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) modules: Vec<Covering>,
}

/// The coverage of one module.
#[derive(Debug, Serialize)]
pub(super) struct Covering {
    /// The path of the module's file.
    pub(super) module: String,
    build_id: Option<String>,
    pub(super) blocks: Share,
    /// The number of blocks that can have no breakpoint. They are not in `blocks`.
    pub(super) refused: usize,
    /// The functions by address.
    pub(super) functions: Vec<Function>,
    /// The source files by path.
    pub(super) files: Vec<File>,
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Share {
    pub(super) executed: usize,
    pub(super) all: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct Function {
    pub(super) name: String,
    /// The address in the module's file.
    address: String,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
    pub(super) blocks: Share,
}

#[derive(Debug, Serialize)]
pub(super) struct File {
    pub(super) file: String,
    /// The lines with code, and whether each was executed.
    pub(super) lines: BTreeMap<u32, bool>,
}

/// The code of one block.
struct Block {
    addresses: Range<u64>,
    executed: bool,
}

impl Report {
    pub(super) fn new(covered: &Covered) -> Report {
        let mut modules: Vec<Covering> = covered.images().map(Covering::new).collect();
        modules.sort_by(|a, b| a.module.cmp(&b.module));
        Report { modules }
    }
}

impl Covering {
    fn new(covered: &CoveredImage) -> Covering {
        let image = &covered.image;
        let blocks = blocks(covered);
        Covering {
            module: shown(image.path()),
            build_id: image.build_id().map(hexadecimal),
            blocks: Share::of(&blocks),
            refused: covered.refused,
            functions: functions(image, &blocks),
            files: files(image, &blocks),
        }
    }
}

impl Share {
    fn of(blocks: &[Block]) -> Share {
        Share { executed: blocks.iter().filter(|block| block.executed).count(), all: blocks.len() }
    }

    pub(super) fn add(&mut self, other: Share) {
        self.executed += other.executed;
        self.all += other.all;
    }
}

impl File {
    pub(super) fn lines_executed(&self) -> Share {
        Share { executed: self.lines.values().filter(|executed| **executed).count(), all: self.lines.len() }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The blocks with a breakpoint, ascending.
fn blocks(covered: &CoveredImage) -> Vec<Block> {
    let CoveredImage { image, asked, executed, .. } = covered;
    // The image knows its blocks already; only the first call asks for a mode.
    let begins = image.blocks(|image| image.arch().mode(ubp_symbols::code::vendor()));
    let block = |&start: &u64| {
        let next = begins.get(begins.partition_point(|begin| *begin <= start)).copied().unwrap_or(u64::MAX);
        let range = image.code().get(image.code().partition_point(|range| range.end <= start));
        let end = range.map_or(start, |range| range.end).min(next).max(start);
        Block { addresses: start..end, executed: executed.contains(&start) }
    };
    asked.iter().map(block).collect()
}

/// The blocks that share an address with a range.
fn within<'a>(blocks: &'a [Block], range: &Range<u64>) -> &'a [Block] {
    let first = blocks.partition_point(|block| block.addresses.end <= range.start);
    let rest = &blocks[first..];
    &rest[..rest.partition_point(|block| block.addresses.start < range.end)]
}

/// The functions with blocks, by address: those that symbols name, each by the best name, and those that only unwind information describes,
/// by the address.
fn functions(image: &Image, blocks: &[Block]) -> Vec<Function> {
    let mut found: BTreeMap<u64, (u64, Option<&str>)> = BTreeMap::new();
    for (symbol, readable) in image.symbols().readable() {
        if matches!(symbol.kind, Kind::Function | Kind::Indirect) {
            let end = symbol.address.saturating_add(symbol.size.max(1));
            found.entry(symbol.address).or_insert((end, Some(readable)));
        }
    }
    for range in image.code() {
        let is_named = found.range(..=range.start).next_back().is_some_and(|(_, (end, _))| range.start < *end);
        if !is_named && image.is_described(range.start) {
            found.insert(range.start, (range.end, None));
        }
    }
    let function = |(start, (end, name)): (u64, (u64, Option<&str>))| {
        let own = within(blocks, &(start..end));
        let (file, line) = image.lines().and_then(|lines| lines.of(start)).unzip();
        let address = format!("{start:#x}");
        let name = name.map_or_else(|| address.clone(), str::to_string);
        (!own.is_empty()).then(|| Function { name, address, file, line, blocks: Share::of(own) })
    };
    found.into_iter().filter_map(function).collect()
}

/// The source files with code in the blocks.
fn files(image: &Image, blocks: &[Block]) -> Vec<File> {
    let (Some(lines), Some(first), Some(last)) = (image.lines(), blocks.first(), blocks.last()) else {
        return Vec::new();
    };
    let mut files: BTreeMap<Rc<str>, BTreeMap<u32, bool>> = BTreeMap::new();
    for row in lines.rows(first.addresses.start..last.addresses.end) {
        let own = within(blocks, &row.addresses);
        if !own.is_empty() {
            let executed = files.entry(row.file).or_default().entry(row.line).or_default();
            *executed |= own.iter().any(|block| block.executed);
        }
    }
    files.into_iter().map(|(file, lines)| File { file: file.to_string(), lines }).collect()
}
