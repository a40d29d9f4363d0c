//! The bytes that are decoded: at most fifteen.

/// The longest instruction, in bytes (SDM vol. 2A, 2.3.11).
pub const MAX_LEN: usize = 15;

/// The first eight bytes as one little-endian word, in one load.
#[inline(always)]
pub(super) fn first_word(bytes: &[u8; MAX_LEN]) -> u64 {
    bytes.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The chunk and a last byte of 0: made of two words that overlap, because nothing beyond the fifteenth byte may be read.
#[inline(always)]
pub(super) fn bytes_of(chunk: &[u8; MAX_LEN]) -> [u8; 16] {
    let last = chunk.last_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    (u128::from(first_word(chunk)) | u128::from(last >> 8) << 64).to_le_bytes()
}

/// Fewer than 15 bytes: missing bytes read as 0, and the length shows that they are missing.
#[inline(never)]
pub(super) fn padded(bytes: &[u8]) -> [u8; MAX_LEN] {
    let mut chunk = [0; MAX_LEN];
    for (to, from) in chunk.iter_mut().zip(bytes) {
        *to = *from;
    }
    chunk
}
