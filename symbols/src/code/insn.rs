use insn::Flow;

/// An instruction at its address.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Insn {
    /// The length in bytes.
    pub len: usize,
    /// Where control goes.
    pub flow: Flow,
    /// The target of a direct branch.
    pub target: Option<u64>,
    /// The number of bytes at the start without which the rest is an instruction too.
    pub prefixes: usize,
    /// Whether the instruction does nothing: assemblers put it between functions.
    pub is_padding: bool,
}
