//! The words of A64 code.

/// The words of bytes in the order of memory. Bytes behind the last whole word are left out.
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).filter_map(|word| word.first_chunk()).map(|word| u32::from_le_bytes(*word))
}
