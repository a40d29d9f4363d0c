use crate::{EncodeError, Error, Field, Kind};

const WORD: usize = 8;
/// Words before the fields: length, code and flags, then the tag.
const HEAD: usize = 2;
/// The largest number of words in a message: 16 MiB, enough for 300,000 breakpoints.
pub const MOST_WORDS: u32 = 1 << 21;

/// The header of a message, without its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Code of the command, reply or event.
    pub code: u16,
    /// Bits of [`flag`](crate::flag).
    pub flags: u16,
    /// The sender's number for a command and its reply, or an event's sequence number.
    pub tag: u64,
}

/// A message whose fields are not parsed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The header.
    pub header: Header,
    /// Fields and blobs: a whole number of words.
    payload: &'a [u8],
}

/// The beginning of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split<'a> {
    /// A message, and the bytes after it.
    Message(Message<'a>, &'a [u8]),
    /// The beginning of a message that has at least this many bytes when complete.
    Incomplete(usize),
}

/// Takes the first message from a stream.
///
/// # Errors
/// [`Error::Length`] if no message can begin so. The stream is unusable then, because the next message cannot be found.
pub fn split(stream: &[u8]) -> Result<Split<'_>, Error> {
    let (Some(first), tag) = (word(stream, 0), word(stream, 1)) else { return Ok(Split::Incomplete(HEAD * WORD)) };
    let words = first as u32;
    if words < HEAD as u32 || words > MOST_WORDS {
        return Err(Error::Length(words));
    }
    let bytes = words as usize * WORD;
    let (Some(tag), Some((message, rest))) = (tag, stream.split_at_checked(bytes)) else {
        return Ok(Split::Incomplete(bytes));
    };
    let header = Header { code: (first >> 32) as u16, flags: (first >> 48) as u16, tag };
    let payload = message.get(HEAD * WORD..).unwrap_or_default();
    Ok(Split::Message(Message { header, payload }, rest))
}

impl<'a> Message<'a> {
    /// The first field's word.
    pub(crate) fn first_word(&self) -> Option<u64> {
        word(self.payload, 0)
    }

    /// The fields, if they are of these kinds.
    ///
    /// # Errors
    /// [`Error::Fields`] if there are fewer words than fields, [`Error::Blobs`] if the blobs do not fill the rest.
    pub fn fields<const N: usize>(&self, kinds: &[Kind; N]) -> Result<[Field<'a>; N], Error> {
        let words = self.payload.len() / WORD;
        let mut rest = self.payload.get(N * WORD..).ok_or(Error::Fields { declared: N, words })?;
        let mut fields = [Field::Word(0); N];
        let mut bytes = 0u64;
        let there = rest.len() / WORD;
        for (number, (field, kind)) in fields.iter_mut().zip(kinds).enumerate() {
            let value = word(self.payload, number).unwrap_or_default();
            *field = match kind {
                Kind::Word => Field::Word(value),
                Kind::Blob => {
                    bytes = bytes.saturating_add(value);
                    let length = usize::try_from(value).unwrap_or(usize::MAX);
                    let error = Error::Blobs { bytes, words: there };
                    let (blob, behind) = rest.split_at_checked(length).ok_or(error)?;
                    rest = behind;
                    Field::Blob(blob)
                }
            };
        }
        // Only padding of the last word may remain.
        if rest.len() < WORD { Ok(fields) } else { Err(Error::Blobs { bytes, words: there }) }
    }
}

/// A destination for the bytes of messages. With the feature `alloc` a `Vec<u8>` is one.
pub trait Sink {
    /// Why bytes could not be taken.
    type Error;
    /// Appends bytes.
    ///
    /// # Errors
    /// The bytes could not be taken.
    fn put(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;
}

/// Bytes in memory, which always have room.
#[cfg(feature = "alloc")]
impl Sink for alloc::vec::Vec<u8> {
    type Error = core::convert::Infallible;

    fn put(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// The number of words in a message with these fields; `None` if that is more than [`MOST_WORDS`].
fn words(fields: &[Field<'_>]) -> Option<u32> {
    let bytes = fields.iter().try_fold(0usize, |sum, field| sum.checked_add(field.blob().len()))?;
    let words = bytes.div_ceil(WORD).checked_add(fields.len())?.checked_add(HEAD)?;
    u32::try_from(words).ok().filter(|words| *words <= MOST_WORDS)
}

/// Writes a message.
///
/// # Errors
/// [`EncodeError::TooLong`] if the message would have more than [`MOST_WORDS`] words; nothing is written then. [`EncodeError::Sink`] with
/// the sink's error.
pub fn encode<S: Sink>(sink: &mut S, header: Header, fields: &[Field<'_>]) -> Result<(), EncodeError<S::Error>> {
    let words = words(fields).ok_or(EncodeError::TooLong)?;
    let first = u64::from(words) | u64::from(header.code) << 32 | u64::from(header.flags) << 48;
    let mut put = |bytes: &[u8]| sink.put(bytes).map_err(EncodeError::Sink);
    put(&first.to_ne_bytes())?;
    put(&header.tag.to_ne_bytes())?;
    for field in fields {
        put(&field.word().to_ne_bytes())?;
    }
    let mut length = 0usize;
    for blob in fields.iter().map(|field| field.blob()) {
        put(blob)?;
        length = length.wrapping_add(blob.len());
    }
    let padding = length.wrapping_neg() % WORD;
    put([0; WORD].get(..padding).unwrap_or_default())
}

fn word(bytes: &[u8], number: usize) -> Option<u64> {
    let at = number.checked_mul(WORD)?;
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}
