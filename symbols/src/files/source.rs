//! Reads the bytes of a file when they are needed. Their memory is limited, whatever the file claims.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::iter::repeat_n;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Weak};

use object::ReadRef;
use object::read::{ReadCache, ReadCacheOps};

use super::opener::Stored;
use super::{Identity, Opened, patience};

/// The largest part of a file that is read, such as a section, in bytes.
const LARGEST: u64 = 512 << 20;
/// The largest number of bytes of one file that are in memory at a time.
const MOST: u64 = 1 << 30;
/// The number of bytes that one call reads.
const CHUNK: usize = 1 << 20;
/// The size in bytes of the blocks in which names are read.
const BLOCK: u64 = 256 << 10;
/// The number of bytes that a name may extend beyond its block.
const BEYOND: u64 = 64 << 10;

/// The bytes of a file, which are read by ranges. Ranges that `object` reads are kept as long as the source.
pub(crate) struct Source {
    bytes: Bytes,
    /// The ranges that this source keeps.
    kept: RefCell<HashSet<Part>>,
    /// The ranges that callers keep.
    taken: RefCell<HashMap<Part, Weak<[u8]>>>,
    /// The number of bytes that may still be kept. Ranges that callers keep are counted separately.
    left: Cell<u64>,
    /// The messages about parts that were not read.
    refused: RefCell<BTreeSet<String>>,
}

/// A part of a file that is read in pieces.
pub(crate) struct Extent {
    reader: Reader,
    offset: u64,
    size: u64,
}

/// The offset and size of a range.
type Part = (u64, u64);

enum Bytes {
    File { reader: Reader, cache: Box<ReadCache<Reader>> },
    Memory(Arc<[u8]>),
}

impl Opened {
    /// The size of the file in bytes when it was opened.
    pub fn size(&self) -> u64 {
        self.identity.size
    }

    /// The path in this process' file tree, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads bytes. `None` if the file ends before, if it was written since it was opened, or if its file system does not answer.
    pub fn read(&self, offset: u64, size: u64) -> Option<Arc<[u8]>> {
        offset.checked_add(size).filter(|end| *end <= self.size())?;
        Source::file(self).look(offset, size)
    }
}

impl Source {
    /// Returns the source of an open file.
    pub(crate) fn file(opened: &Opened) -> Source {
        let reader = Reader { file: Arc::clone(&opened.file), identity: opened.identity, at: 0 };
        Source::new(Bytes::File { cache: Box::new(ReadCache::new(reader.clone())), reader })
    }

    /// Returns the source of bytes that are in memory.
    pub(crate) fn memory(data: impl Into<Arc<[u8]>>) -> Source {
        Source::new(Bytes::Memory(data.into()))
    }

    /// Gives `f` a source of the same bytes, which keeps what `f` reads until `f` returns.
    pub(crate) fn briefly<T>(&self, f: impl FnOnce(&Source) -> T) -> T {
        let source = Source::new(match &self.bytes {
            Bytes::File { reader, .. } => {
                Bytes::File { cache: Box::new(ReadCache::new(reader.clone())), reader: reader.clone() }
            }
            Bytes::Memory(data) => Bytes::Memory(Arc::clone(data)),
        });
        source.left.set(self.left.get());
        let result = f(&source);
        self.refused.borrow_mut().append(&mut source.take_refused());
        result
    }

    fn new(bytes: Bytes) -> Source {
        let (kept, taken, refused) = Default::default();
        Source { bytes, kept, taken, left: Cell::new(MOST), refused }
    }

    /// The size of the file in bytes.
    pub(crate) fn size(&self) -> u64 {
        match &self.bytes {
            Bytes::File { reader, .. } => reader.identity.size,
            Bytes::Memory(data) => data.len() as u64,
        }
    }

    /// Reads a range that the caller keeps. `None` if the file ends before the range, or if the range is too large.
    pub(crate) fn take(&self, offset: u64, size: u64) -> Option<Arc<[u8]>> {
        let known = self.taken.borrow().get(&(offset, size)).and_then(Weak::upgrade);
        if known.is_some() {
            return known;
        }
        self.allow(offset, size)?;
        let bytes = self.look(offset, size)?;
        self.taken.borrow_mut().insert((offset, size), Arc::downgrade(&bytes));
        Some(bytes)
    }

    /// Reads a range that the caller does not keep. It does not count against the limit, so callers read few bytes.
    pub(crate) fn look(&self, offset: u64, size: u64) -> Option<Arc<[u8]>> {
        match &self.bytes {
            Bytes::File { reader, .. } => reader.take(offset, usize::try_from(size).ok()?),
            Bytes::Memory(data) => (&**data).read_bytes_at(offset, size).ok().map(Into::into),
        }
    }

    /// A range that the caller reads in pieces and keeps. `None` if the bytes are in memory, or if the range is refused as by [`Source::take`].
    pub(crate) fn extent(&self, offset: u64, size: u64) -> Option<Extent> {
        let Bytes::File { reader, .. } = &self.bytes else { return None };
        self.left.set(self.allow(offset, size)?);
        Some(Extent { reader: reader.clone(), offset, size })
    }

    /// Whether `size` more bytes that are computed from the file may be kept, such as a decompressed section.
    pub(crate) fn allow_expanded(&self, size: u64) -> bool {
        self.room(size).map(|left| self.left.set(left)).is_some()
    }

    /// Adds a message about a part that is not read.
    pub(crate) fn note_refused(&self, what: String) {
        self.refused.borrow_mut().insert(what);
    }

    /// Returns the messages about parts that were not read since the last call.
    pub(crate) fn take_refused(&self) -> BTreeSet<String> {
        self.refused.take()
    }

    /// Checks that a range is in the file and may be kept. Returns the number of bytes that may still be kept then.
    fn allow(&self, offset: u64, size: u64) -> Option<u64> {
        offset.checked_add(size).filter(|end| *end <= self.size())?;
        self.room(size)
    }

    /// Checks that `size` more bytes may be kept. Returns the number of bytes that may still be kept then.
    fn room(&self, size: u64) -> Option<u64> {
        if size > LARGEST {
            self.note_refused(format!(
                "a section of {} MiB is not read: the limit is {} MiB",
                size >> 20,
                LARGEST >> 20
            ));
            return None;
        }
        let mut taken = self.taken.borrow_mut();
        taken.retain(|_, bytes| bytes.strong_count() > 0);
        let taken: u64 = taken.keys().map(|(_, size)| *size).sum();
        let left = self.left.get().checked_sub(size).filter(|left| *left >= taken);
        if left.is_none() {
            self.note_refused(format!("a section is not read: more than {} MiB would be kept of the file", MOST >> 20));
        }
        left
    }
}

impl Extent {
    /// The size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Reads bytes. `None` if they are not in the part, if the file was written since it was opened, or if its file system does not answer.
    pub(crate) fn read(&self, at: u64, size: u64) -> Option<Arc<[u8]>> {
        at.checked_add(size).filter(|end| *end <= self.size)?;
        self.reader.take(self.offset.checked_add(at)?, usize::try_from(size).ok()?)
    }
}

impl<'a> ReadRef<'a> for &'a Source {
    fn len(self) -> Result<u64, ()> {
        Ok(self.size())
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        match &self.bytes {
            Bytes::Memory(data) => (&**data).read_bytes_at(offset, size),
            Bytes::File { cache, .. } => {
                if !self.kept.borrow().contains(&(offset, size)) {
                    self.left.set(self.allow(offset, size).ok_or(())?);
                    self.kept.borrow_mut().insert((offset, size));
                }
                (&**cache).read_bytes_at(offset, size)
            }
        }
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        if let Bytes::Memory(data) = &self.bytes {
            return (&**data).read_bytes_at_until(range, delimiter);
        }
        let block = range.start - range.start % BLOCK;
        let size = self.size().checked_sub(block).ok_or(())?.min(BLOCK + BEYOND);
        let bytes = self.read_bytes_at(block, size)?;
        let end = range.end.saturating_sub(block).min(size) as usize;
        let name = bytes.get((range.start - block) as usize..end).ok_or(())?;
        let length = name.iter().position(|byte| *byte == delimiter).ok_or(())?;
        name.get(..length).ok_or(())
    }
}

/// Reads a file, with a deadline for each call.
#[derive(Clone)]
struct Reader {
    file: Arc<Stored>,
    /// The state of the file that is read.
    identity: Identity,
    /// The offset of the next read.
    at: u64,
}

impl Reader {
    /// Fills the buffer.
    fn fill(&self, mut offset: u64, buffer: &mut [u8]) -> Option<()> {
        let mut rest = buffer;
        while !rest.is_empty() {
            let (file, identity) = (Arc::clone(&self.file), self.identity);
            let mut part = vec![0; rest.len().min(CHUNK)];
            let read = patience::ask(move || {
                let read = file.read_at(&mut part, offset).ok()?;
                part.truncate(read);
                // Bytes of a later state do not match those that were read before.
                file.identity().is_ok_and(|now| identity.is_unwritten(&now)).then_some(part)
            });
            let part = read.flatten().filter(|part| !part.is_empty())?;
            let (done, behind) = rest.split_at_mut_checked(part.len())?;
            done.copy_from_slice(&part);
            (rest, offset) = (behind, offset.checked_add(part.len() as u64)?);
        }
        Some(())
    }

    fn take(&self, offset: u64, size: usize) -> Option<Arc<[u8]>> {
        let mut bytes: Arc<[u8]> = repeat_n(0, size).collect();
        self.fill(offset, Arc::get_mut(&mut bytes)?).map(|()| bytes)
    }
}

impl ReadCacheOps for Reader {
    fn len(&mut self) -> Result<u64, ()> {
        Ok(self.identity.size)
    }

    fn seek(&mut self, position: u64) -> Result<u64, ()> {
        self.at = position;
        Ok(position)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ()> {
        let size = self.identity.size.saturating_sub(self.at).min(buffer.len() as u64) as usize;
        self.read_exact(buffer.get_mut(..size).ok_or(())?).map(|()| size)
    }

    fn read_exact(&mut self, buffer: &mut [u8]) -> Result<(), ()> {
        self.fill(self.at, buffer).ok_or(())?;
        self.at += buffer.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::files::open;

    /// Returns the source of an unlinked file of a given size that begins with `start`.
    fn sparse(start: &[u8], size: u64) -> Source {
        let path = std::env::temp_dir().join(format!("ntrace-source-{}-{size}", std::process::id()));
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(start).unwrap();
        file.set_len(size).unwrap();
        let opened = open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        Source::file(&opened)
    }

    #[test]
    fn a_part_that_is_too_large_is_refused_with_a_message_and_the_others_are_read() {
        let source = sparse(b"start", 8 << 30);
        assert!((&source).read_bytes_at(0, LARGEST + 1).is_err());
        assert_eq!((&source).read_bytes_at(0, 5), Ok(&b"start"[..]));
        let refused: Vec<String> = source.take_refused().into_iter().collect();
        assert!(refused.len() == 1 && refused[0].contains("the limit is 512 MiB"), "{refused:?}");
    }

    #[test]
    fn what_is_kept_at_a_time_has_a_bound_and_what_is_read_twice_counts_once() {
        let source = sparse(b"", 8 << 30);
        source.left.set(100);
        for _ in 0..3 {
            assert!((&source).read_bytes_at(7, 60).is_ok());
        }
        let first = source.take(0, 30).unwrap();
        let again = source.take(0, 30).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        assert!(source.take(1, 30).is_none());
        assert!(source.take_refused().iter().any(|what| what.contains("would be kept")));
        drop((first, again));
        assert!(source.take(1, 30).is_some());
    }

    #[test]
    fn names_are_read_across_the_borders_of_blocks() {
        let mut data = vec![b'x'; BLOCK as usize - 2];
        data.extend(b"\0name\0rest");
        let source = sparse(&data, data.len() as u64);
        let end = data.len() as u64;
        assert_eq!((&source).read_bytes_at_until(BLOCK - 1..end, 0), Ok(&b"name"[..]));
        assert_eq!((&source).read_bytes_at_until(BLOCK + 4..end, 0), Err(()));
        assert_eq!((&source).read_bytes_at_until(BLOCK + 1..BLOCK + 2, 0), Err(()));
        assert_eq!((&source).read_bytes_at_until(end + 1..end + 9, 0), Err(()));
    }

    #[test]
    fn nothing_more_is_read_of_a_file_that_was_cut_or_written_since_it_was_opened() {
        let path = std::env::temp_dir().join(format!("ntrace-changed-{}", std::process::id()));
        let changes: [fn(&std::fs::File); 2] =
            [|file| file.set_len(100).unwrap(), |file| (&*file).write_all(b"x").unwrap()];
        for change in changes {
            std::fs::write(&path, [7; 4096]).unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
            let source = Source::file(&open(&path).unwrap());
            assert_eq!(source.take(0, 100).as_deref(), Some(&[7; 100][..]));
            change(&file);
            assert!(source.take(1, 99).is_none());
        }
        std::fs::remove_file(&path).unwrap();
    }
}
