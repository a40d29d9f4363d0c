/// One stub, and the slot of the global offset table that it jumps through.
pub(super) struct Stub {
    /// The address of the first byte.
    pub(super) start: u64,
    /// The address behind the last byte.
    pub(super) end: u64,
    /// The address of the slot.
    pub(super) slot: u64,
}
