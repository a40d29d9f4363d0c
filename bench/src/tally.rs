//! The results of sweeps.

/// The result of a sweep: the number of instructions, and a sum that depends on each, so that the compiler cannot omit work.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) instructions: u64,
    pub(crate) sum: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, value: u64) {
        self.instructions += 1;
        self.sum = self.sum.wrapping_add(value);
    }

    /// Adds the result of another sweep.
    pub(crate) fn merge(&mut self, other: Tally) {
        self.instructions += other.instructions;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}
