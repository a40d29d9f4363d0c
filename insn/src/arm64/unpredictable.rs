//! CONSTRAINED UNPREDICTABLE combinations of fields (Arm ARM K1.2).

use super::Insn;

/// Bits of `Meaning::unpredictable`, numbered as in insn/gen/src/arm64/forms.rs.
mod when {
    /// The base register, unless it is sp, is the first register transferred.
    pub(super) const N_IS_T: u16 = 1;
    pub(super) const N_IS_T2: u16 = 1 << 1;
    pub(super) const T_IS_T2: u16 = 1 << 2;
    /// The status register is the first register transferred.
    pub(super) const S_IS_T: u16 = 1 << 3;
    pub(super) const S_IS_T2: u16 = 1 << 4;
    /// The status register is the base, unless that is sp.
    pub(super) const S_IS_N: u16 = 1 << 5;
    /// Destination, source and count of a memory copy are not three registers below 31.
    pub(super) const COPY: u16 = 1 << 6;
    /// Destination, value and count of a memory set are not three registers, of which only the value may be 31.
    pub(super) const SET: u16 = 1 << 7;
    pub(super) const ALWAYS: u16 = 1 << 8;
}

impl Insn {
    /// Whether the Arm ARM calls it CONSTRAINED UNPREDICTABLE: what a processor does with it, and whether it is undefined, it
    /// chooses out of a few ways.
    pub fn is_unpredictable(&self) -> bool {
        let [d, n, t2, s] = [0, 5, 10, 16].map(|low| self.field(low, 5));
        let t = d;
        let base = n != 31;
        let unpredictable = [
            (when::N_IS_T, base && n == t),
            (when::N_IS_T2, base && n == t2),
            (when::T_IS_T2, t == t2),
            (when::S_IS_T, s == t),
            (when::S_IS_T2, s == t2),
            (when::S_IS_N, base && s == n),
            (when::COPY, d == s || s == n || d == n || d == 31 || s == 31 || n == 31),
            (when::SET, d == s || s == n || d == n || d == 31 || n == 31),
            (when::ALWAYS, true),
        ];
        let checks = self.meaning().unpredictable;
        unpredictable.iter().any(|(bit, holds)| checks & bit != 0 && *holds)
    }
}
