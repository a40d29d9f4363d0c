//! What decoders say.

use insn::Flow;

/// Where the bytes are said to lie: far from every end.
pub const ADDRESS: u64 = 0x0040_0000;

/// What a decoder says of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its length.
    pub len: usize,
    /// What it does to the flow of control; nothing where the decoder's words are too coarse to tell.
    pub flow: Option<Flow>,
    /// Where a direct near branch goes, from [`ADDRESS`].
    pub target: Option<u64>,
}
