//! A section that is read from its file in blocks, each when it is needed first: of hundreds of megabytes of debug information most are never
//! looked at.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use gimli::{Error, ReaderOffsetId, Result};

use crate::files::Extent;

/// The size of a block in bytes.
const BLOCK: usize = 16 << 10;
/// The number of blocks that are read at once where blocks are read one behind the other.
const AHEAD: usize = 64;

/// A part of a section.
#[derive(Clone)]
pub(crate) struct Paged {
    section: Arc<Section>,
    start: usize,
    end: usize,
}

struct Section {
    extent: Extent,
    size: usize,
    blocks: Box<[OnceLock<Box<[u8]>>]>,
    /// Whether a read failed. No other is tried: each may wait for a file system that does not answer.
    has_failed: AtomicBool,
}

impl Section {
    fn block(&self, number: usize) -> Result<&[u8]> {
        let known = || self.blocks.get(number).and_then(OnceLock::get).map(|block| &**block);
        if let Some(block) = known() {
            return Ok(block);
        }
        if self.has_failed.load(Ordering::Relaxed) || self.fill(number).is_none() {
            self.has_failed.store(true, Ordering::Relaxed);
            return Err(Error::Io);
        }
        known().ok_or(Error::Io)
    }

    /// Reads a block, and blocks behind it if that before it is known.
    fn fill(&self, first: usize) -> Option<()> {
        let is_known = |number: usize| self.blocks.get(number).is_some_and(|block| block.get().is_some());
        let many = if first.checked_sub(1).is_some_and(is_known) { AHEAD } else { 1 };
        let slots = self.blocks.get(first..)?.iter().take(many);
        let start = first.checked_mul(BLOCK)?;
        let size = slots.len().checked_mul(BLOCK)?.min(self.size.checked_sub(start)?);
        let bytes = self.extent.read(start as u64, size as u64)?;
        for (slot, block) in slots.zip(bytes.chunks(BLOCK)) {
            // One that is known has the same bytes.
            let _ = slot.set(block.into());
        }
        Some(())
    }
}

impl Paged {
    /// All of a part of a file.
    pub(crate) fn new(extent: Extent) -> Option<Paged> {
        let size = usize::try_from(extent.size()).ok()?;
        let blocks = std::iter::repeat_with(OnceLock::new).take(size.div_ceil(BLOCK)).collect();
        let section = Section { extent, size, blocks, has_failed: AtomicBool::new(false) };
        Some(Paged { section: Arc::new(section), start: 0, end: size })
    }

    /// The bytes from an offset in the section on, up to the end of their block or of this part.
    fn run(&self, at: usize) -> Result<&[u8]> {
        let block = self.section.block(at / BLOCK)?;
        let most = self.end.saturating_sub(at);
        let rest = block.get(at % BLOCK..).ok_or(Error::Io)?;
        Ok(rest.get(..most.min(rest.len())).unwrap_or(rest))
    }

    fn eof(&self) -> Error {
        Error::UnexpectedEof(self.offset_id())
    }

    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(super) fn empty(&mut self) {
        self.end = self.start;
    }

    pub(super) fn truncate(&mut self, length: usize) -> Result<()> {
        if self.len() < length {
            return Err(self.eof());
        }
        self.end = self.start + length;
        Ok(())
    }

    pub(super) fn offset_from(&self, base: &Paged) -> usize {
        self.start.saturating_sub(base.start)
    }

    /// A number that no other place of any section in memory has.
    pub(super) fn offset_id(&self) -> ReaderOffsetId {
        ReaderOffsetId(self.base().wrapping_add(self.start as u64))
    }

    pub(super) fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        let at = usize::try_from(id.0.checked_sub(self.base())?).ok()?;
        (self.start..=self.end).contains(&at).then(|| at - self.start)
    }

    fn base(&self) -> u64 {
        Arc::as_ptr(&self.section).addr() as u64
    }

    pub(super) fn find(&self, byte: u8) -> Result<usize> {
        let mut at = self.start;
        while at < self.end {
            let run = self.run(at)?;
            if let Some(found) = run.iter().position(|other| *other == byte) {
                return Ok(at + found - self.start);
            }
            at += run.len();
        }
        Err(self.eof())
    }

    pub(super) fn skip(&mut self, length: usize) -> Result<()> {
        if self.len() < length {
            return Err(self.eof());
        }
        self.start += length;
        Ok(())
    }

    pub(super) fn split(&mut self, length: usize) -> Result<Paged> {
        let mut first = self.clone();
        first.truncate(length)?;
        self.start += length;
        Ok(first)
    }

    pub(super) fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        if self.len() == 0 {
            return Ok(Cow::Borrowed(&[]));
        }
        let run = self.run(self.start)?;
        if run.len() == self.len() {
            return Ok(Cow::Borrowed(run));
        }
        let mut bytes = vec![0; self.len()];
        self.clone().read_slice(&mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    pub(super) fn read_slice(&mut self, buffer: &mut [u8]) -> Result<()> {
        if self.len() < buffer.len() {
            return Err(self.eof());
        }
        let mut rest = buffer;
        while !rest.is_empty() {
            let run = self.run(self.start)?;
            let size = run.len().min(rest.len());
            let (Some(run), Some((now, behind))) = (run.get(..size), rest.split_at_mut_checked(size)) else {
                return Err(Error::Io);
            };
            now.copy_from_slice(run);
            self.start += size;
            rest = behind;
        }
        Ok(())
    }
}

impl fmt::Debug for Paged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Paged").field("start", &self.start).field("end", &self.end).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::files::{Source, open};
    use crate::reader::Reader;

    /// A file of bytes of all kinds, and the readers of a part of it: from the file, and from memory.
    fn readers(name: &str, size: usize) -> (Reader, Reader) {
        let bytes: Vec<u8> = (0..size + 20).map(|number| (number % 251) as u8).collect();
        let path = std::env::temp_dir().join(format!("ntrace-paged-{name}-{}", std::process::id()));
        fs::write(&path, &bytes).unwrap();
        let opened = open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let extent = Source::file(&opened).extent(7, size as u64).unwrap();
        (Reader::Paged(Paged::new(extent).unwrap()), Reader::whole(bytes[7..7 + size].into()))
    }

    #[test]
    fn a_section_in_blocks_reads_as_one_in_memory_does() {
        use gimli::Reader as _;
        let (mut paged, mut whole) = readers("reads", 3 * BLOCK + 100);
        for step in [0, 1, 2, 8, 250, BLOCK - 300, 5, 100, BLOCK, 77] {
            assert_eq!(paged.find(250).ok(), whole.find(250).ok());
            let parts = (paged.split(step).unwrap(), whole.split(step).unwrap());
            assert_eq!(parts.0.to_slice().unwrap(), parts.1.to_slice().unwrap(), "{step}");
            assert_eq!(parts.0.to_string_lossy().unwrap(), parts.1.to_string_lossy().unwrap(), "{step}");
            let (mut ours, mut theirs) = (paged.clone(), whole.clone());
            assert_eq!(ours.read_u64().unwrap(), theirs.read_u64().unwrap(), "{step}");
            assert_eq!(ours.offset_from(&paged), 8);
            assert_eq!(paged.lookup_offset_id(ours.offset_id()), Some(8));
            assert_eq!(paged.len(), whole.len());
        }
        // From here a search crosses the end of a block.
        let (mut across, mut known) = readers("across", 3 * BLOCK + 100);
        across.skip(BLOCK - 3).unwrap();
        known.skip(BLOCK - 3).unwrap();
        for byte in 0..251 {
            assert_eq!(across.find(byte).ok(), known.find(byte).ok(), "{byte}");
        }
        let rest = paged.len();
        assert!(paged.clone().skip(rest + 1).is_err() && paged.clone().truncate(rest + 1).is_err());
        assert!(paged.clone().split(rest + 1).is_err() && paged.find(251).is_err());
        paged.empty();
        assert!(paged.read_u8().is_err() && paged.to_slice().unwrap().is_empty());
    }

    #[test]
    fn blocks_that_nobody_asks_for_are_not_read() {
        use gimli::Reader as _;
        let (paged, _) = readers("lazy", 9 * BLOCK);
        let Reader::Paged(section) = &paged else { unreachable!("it is in blocks") };
        let known = || section.section.blocks.iter().filter(|block| block.get().is_some()).count();
        assert_eq!(known(), 0);
        let mut behind = paged.clone();
        behind.skip(5 * BLOCK).unwrap();
        behind.read_u8().unwrap();
        assert_eq!(known(), 1);
        // Who reads on gets the rest at once.
        behind.skip(BLOCK).unwrap();
        behind.read_u8().unwrap();
        assert_eq!(known(), 4);
    }

    #[test]
    fn a_file_that_is_written_meanwhile_gives_errors_and_no_bytes_of_two_states() {
        use gimli::Reader as _;
        let path = std::env::temp_dir().join(format!("ntrace-paged-written-{}", std::process::id()));
        fs::write(&path, vec![1; 4 * BLOCK]).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        let extent = Source::file(&open(&path).unwrap()).extent(0, 4 * BLOCK as u64).unwrap();
        let mut paged = Reader::Paged(Paged::new(extent).unwrap());
        assert_eq!(paged.read_u8().unwrap(), 1);
        fs::write(&path, vec![2; 4 * BLOCK]).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(paged.read_u8().unwrap(), 1);
        assert_eq!(paged.find(2), Err(Error::Io));
        assert_eq!(paged.copied(), None);
    }
}
