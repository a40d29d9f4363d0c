//! What the finder of lengths asks of vectors.

/// The number of bytes of a block.
pub(in super::super) const BLOCK: usize = 32;

/// A set of vector instructions; a value is the proof that the processor has it.
pub(super) trait Vectors: Copy {
    /// The bytes that one step computes with.
    type Block: Copy;

    /// Brings the first of the bytes into the cache.
    fn prefetch(self, bytes: &[u8]);
    fn load(self, bytes: &[u8; BLOCK]) -> Self::Block;
    fn store(self, block: Self::Block, bytes: &mut [u8; BLOCK]);
    /// A block of the same bytes.
    fn each(self, byte: u8) -> Self::Block;
    /// A table for [`Vectors::look_up`].
    fn table(self, table: &[u8; 16]) -> Self::Block;
    /// The table's bytes at indices below 16.
    fn look_up(self, table: Self::Block, indices: Self::Block) -> Self::Block;
    fn and(self, a: Self::Block, b: Self::Block) -> Self::Block;
    fn or(self, a: Self::Block, b: Self::Block) -> Self::Block;
    fn xor(self, a: Self::Block, b: Self::Block) -> Self::Block;
    /// The bits of `a` that `b` does not have.
    fn without(self, a: Self::Block, b: Self::Block) -> Self::Block;
    fn add(self, a: Self::Block, b: Self::Block) -> Self::Block;
    fn subtract(self, a: Self::Block, b: Self::Block) -> Self::Block;
    /// All bits of each byte that is the same in both.
    fn equal(self, a: Self::Block, b: Self::Block) -> Self::Block;
    /// All bits of each byte whose highest bit is set.
    fn signs(self, a: Self::Block) -> Self::Block;
    fn high_nibbles(self, a: Self::Block) -> Self::Block;
    /// The block one byte on: all bytes but the first, and the first of the next block.
    fn ahead(self, a: Self::Block, next: Self::Block) -> Self::Block;
}
