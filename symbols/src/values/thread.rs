//! What is read of a thread.

/// A thread at an instruction, from whose registers and memory values are read.
pub trait Thread {
    /// A general register by its number in debug information, the stack pointer included.
    fn general(&mut self, number: u16) -> Option<u64>;
    /// A vector register (`zmm` or `v`) by its number among these: 16 bytes or more, the lowest first.
    fn vector(&mut self, number: u16) -> Option<Vec<u8>>;
    /// The register by which code finds the storage of its thread: the base of fs, or `tpidr_el0`. All frames of a thread have the same.
    fn thread_pointer(&mut self) -> Option<u64> {
        None
    }
    /// Reads memory, and returns the number of bytes that could be read.
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> usize;
}
