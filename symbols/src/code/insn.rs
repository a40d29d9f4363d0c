use insn::Flow;

/// An instruction at its address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Insn {
    /// The length in bytes.
    pub(crate) len: usize,
    pub(crate) flow: Flow,
    /// The target of a direct branch.
    pub(crate) target: Option<u64>,
    /// The number of bytes at the start without which the rest is an instruction too.
    pub(crate) prefixes: usize,
    /// Whether the instruction does nothing: assemblers put it between functions.
    pub(crate) is_padding: bool,
}
