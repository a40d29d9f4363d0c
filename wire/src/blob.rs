//! Readers of blobs that consist of words: addresses, counts, failures of `insert`, mappings. [`site::records`](crate::site::records) reads
//! breakpoints.
//!
//! ```
//! use wire::blob;
//!
//! // Two breakpoints, of which only the first exists.
//! let reply = [3u64.to_ne_bytes(), u64::MAX.to_ne_bytes()].concat();
//! let counts: Vec<Option<u64>> = blob::counts(&reply)?.collect();
//! assert_eq!(counts, [Some(3), None]);
//! assert!(blob::counts(&reply[1..]).is_err());
//! # Ok::<(), wire::Error>(())
//! ```

use crate::rule::{Clause, Value};
use crate::{Error, Failure, Status};

const WORD: usize = 8;

/// A breakpoint that `insert` did not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotSet {
    /// Index of its record in the command.
    pub index: u64,
    /// Why it was not set.
    pub failure: Failure,
}

/// A mapping that `mappings` lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mapping {
    /// Address of the first byte.
    pub start: u64,
    /// Address of the first byte after it.
    pub end: u64,
    /// Bits of `mmap`(2)'s protection.
    pub protection: u64,
    /// Offset in the file, in bytes.
    pub offset: u64,
}

/// The words of a blob: addresses of `remove` and `counts`, or memory.
///
/// # Errors
/// [`Error::Records`] if the blob does not consist of whole words.
pub fn words(blob: &[u8]) -> Result<impl ExactSizeIterator<Item = u64> + Clone + '_, Error> {
    Ok(records(blob)?.map(|[word]| word))
}

/// The counts in the reply to `counts`, in the order of the command's addresses; `None` where there is no breakpoint.
///
/// # Errors
/// As [`words`].
pub fn counts(blob: &[u8]) -> Result<impl ExactSizeIterator<Item = Option<u64>> + Clone + '_, Error> {
    Ok(words(blob)?.map(|count| (count != u64::MAX).then_some(count)))
}

/// The failures in the reply to `insert`. An item is [`Error::Status`] if its status has an unknown number.
///
/// # Errors
/// [`Error::Records`] if the blob does not consist of whole records of three words.
pub fn failures(blob: &[u8]) -> Result<impl ExactSizeIterator<Item = Result<NotSet, Error>> + Clone + '_, Error> {
    Ok(records(blob)?.map(|[index, status, detail]| {
        let status = Status::from_number(status).ok_or(Error::Status(status))?;
        Ok(NotSet { index, failure: Failure::new(status, detail) })
    }))
}

/// The mappings in the reply to `mappings`, in the order of their addresses.
///
/// # Errors
/// [`Error::Records`] if the blob does not consist of whole records of four words.
pub fn mappings(blob: &[u8]) -> Result<impl ExactSizeIterator<Item = Mapping> + Clone + '_, Error> {
    Ok(records(blob)?.map(|[start, end, protection, offset]| Mapping { start, end, protection, offset }))
}

/// The clauses of the command `rule`; `None` for words that describe none.
///
/// # Errors
/// [`Error::Records`] if the blob does not consist of whole records of four words.
pub fn clauses(blob: &[u8]) -> Result<impl ExactSizeIterator<Item = Option<Clause>> + Clone + '_, Error> {
    Ok(records(blob)?.map(Clause::from_words))
}

/// The values of the command `aggregate`; `None` for words that describe none.
///
/// # Errors
/// [`Error::Records`] if the blob does not consist of whole records of two words.
pub fn values(blob: &[u8]) -> Result<impl ExactSizeIterator<Item = Option<Value>> + Clone + '_, Error> {
    Ok(records(blob)?.map(Value::from_words))
}

/// The words of the limits or of the histogram of the commands `rule` and `aggregate`, zeroes for an empty blob; `None` if it has another number of
/// words.
pub fn words_or_none<const N: usize>(blob: &[u8]) -> Option<[u64; N]> {
    if blob.is_empty() {
        return Some([0; N]);
    }
    let mut all = records(blob).ok()?;
    all.next().filter(|_| blob.len() == const { WORD * N })
}

/// The bytes of words.
#[cfg(feature = "alloc")]
pub fn from_words(words: &[u64]) -> alloc::vec::Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Records of `N` words, at least one.
fn records<const N: usize>(blob: &[u8]) -> Result<impl ExactSizeIterator<Item = [u64; N]> + Clone + '_, Error> {
    let record = const { WORD * N };
    if blob.len() % record != 0 {
        return Err(Error::Records { bytes: blob.len(), record });
    }
    Ok(blob.chunks_exact(record).map(|bytes| {
        let (mut words, mut rest) = ([0; N], bytes);
        for word in &mut words {
            // The kernel's compiler does not see that a division by the length of a chunk is safe, so that there is none.
            if let Some((first, behind)) = rest.split_first_chunk() {
                (*word, rest) = (u64::from_ne_bytes(*first), behind);
            }
        }
        words
    }))
}
