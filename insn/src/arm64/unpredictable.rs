//! CONSTRAINED UNPREDICTABLE combinations of fields (Arm ARM K1.2).

use super::Insn;
use super::codes::when;

impl Insn {
    /// Whether the instruction is CONSTRAINED UNPREDICTABLE (Arm ARM K1.2): each processor chooses one of a few behaviours, of which one may
    /// be that the instruction is undefined.
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
        let checks = self.form().map_or(0, |(_, form)| form.unless);
        unpredictable.iter().any(|(bit, holds)| checks & bit != 0 && *holds)
    }
}
