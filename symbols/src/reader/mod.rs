//! How debug information is read.

mod paged;

use std::borrow::Cow;
use std::sync::Arc;

use gimli::{EndianArcSlice, LittleEndian, ReaderOffsetId, Result};

pub(crate) use self::paged::Paged;

/// The bytes of a section, or of a part of it.
#[derive(Clone, Debug)]
pub(crate) enum Reader {
    /// They are in memory.
    Whole(EndianArcSlice<LittleEndian>),
    /// They are read from the file when they are needed.
    Paged(Paged),
}

impl Reader {
    pub(crate) fn whole(bytes: Arc<[u8]>) -> Reader {
        Reader::Whole(EndianArcSlice::new(bytes, LittleEndian))
    }

    /// A copy of the bytes. `None` if the file cannot be read.
    pub(crate) fn copied(&self) -> Option<Vec<u8>> {
        gimli::Reader::to_slice(self).ok().map(Cow::into_owned)
    }
}

impl gimli::Reader for Reader {
    type Endian = LittleEndian;
    type Offset = usize;

    fn endian(&self) -> LittleEndian {
        LittleEndian
    }

    fn len(&self) -> usize {
        match self {
            Reader::Whole(bytes) => bytes.len(),
            Reader::Paged(bytes) => bytes.len(),
        }
    }

    fn empty(&mut self) {
        match self {
            Reader::Whole(bytes) => bytes.empty(),
            Reader::Paged(bytes) => bytes.empty(),
        }
    }

    fn truncate(&mut self, length: usize) -> Result<()> {
        match self {
            Reader::Whole(bytes) => bytes.truncate(length),
            Reader::Paged(bytes) => bytes.truncate(length),
        }
    }

    fn offset_from(&self, base: &Reader) -> usize {
        match (self, base) {
            (Reader::Whole(bytes), Reader::Whole(base)) => bytes.offset_from(base),
            (Reader::Paged(bytes), Reader::Paged(base)) => bytes.offset_from(base),
            // Parts of different sections have no distance.
            _ => 0,
        }
    }

    fn offset_id(&self) -> ReaderOffsetId {
        match self {
            Reader::Whole(bytes) => bytes.offset_id(),
            Reader::Paged(bytes) => bytes.offset_id(),
        }
    }

    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        match self {
            Reader::Whole(bytes) => bytes.lookup_offset_id(id),
            Reader::Paged(bytes) => bytes.lookup_offset_id(id),
        }
    }

    fn find(&self, byte: u8) -> Result<usize> {
        match self {
            Reader::Whole(bytes) => bytes.find(byte),
            Reader::Paged(bytes) => bytes.find(byte),
        }
    }

    fn skip(&mut self, length: usize) -> Result<()> {
        match self {
            Reader::Whole(bytes) => bytes.skip(length),
            Reader::Paged(bytes) => bytes.skip(length),
        }
    }

    fn split(&mut self, length: usize) -> Result<Reader> {
        match self {
            Reader::Whole(bytes) => bytes.split(length).map(Reader::Whole),
            Reader::Paged(bytes) => bytes.split(length).map(Reader::Paged),
        }
    }

    fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        match self {
            Reader::Whole(bytes) => bytes.to_slice(),
            Reader::Paged(bytes) => bytes.to_slice(),
        }
    }

    fn to_string(&self) -> Result<Cow<'_, str>> {
        match self {
            Reader::Whole(bytes) => bytes.to_string(),
            Reader::Paged(bytes) => match bytes.to_slice()? {
                Cow::Borrowed(bytes) => {
                    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| gimli::Error::BadUtf8)
                }
                Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|_| gimli::Error::BadUtf8),
            },
        }
    }

    fn to_string_lossy(&self) -> Result<Cow<'_, str>> {
        match self {
            Reader::Whole(bytes) => bytes.to_string_lossy(),
            Reader::Paged(bytes) => match bytes.to_slice()? {
                Cow::Borrowed(bytes) => Ok(String::from_utf8_lossy(bytes)),
                Cow::Owned(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned().into()),
            },
        }
    }

    fn read_slice(&mut self, buffer: &mut [u8]) -> Result<()> {
        match self {
            Reader::Whole(bytes) => bytes.read_slice(buffer),
            Reader::Paged(bytes) => bytes.read_slice(buffer),
        }
    }
}
