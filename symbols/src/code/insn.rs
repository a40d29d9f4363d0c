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

/// What an instruction's successors depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// The length in bytes.
    pub(crate) len: usize,
    /// Where control goes.
    pub(crate) flow: Flow,
    /// The target of a direct branch.
    pub(crate) target: Option<u64>,
}
