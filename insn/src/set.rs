//! Sets of registers, defined alike for all architectures.

/// Defines `RegSet` over the module's `Reg`, whose number is below 128.
macro_rules! register_set {
    () => {
        /// A set of registers as bits, numbered by [`Reg::number`].
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct RegSet(u128);

        impl RegSet {
            /// No register.
            pub const EMPTY: RegSet = RegSet(0);

            /// The set with the given bits.
            pub const fn from_bits(bits: u128) -> RegSet {
                RegSet(bits)
            }
            /// The set as bits.
            pub const fn bits(self) -> u128 {
                self.0
            }
            /// The set with `reg` added.
            #[must_use]
            pub const fn with(self, reg: Reg) -> RegSet {
                RegSet(self.0 | 1 << (reg.0 & 127))
            }
            /// The set without `reg`.
            #[must_use]
            pub const fn without(self, reg: Reg) -> RegSet {
                RegSet(self.0 & !(1 << (reg.0 & 127)))
            }
            /// Whether `reg` is a member.
            pub const fn contains(self, reg: Reg) -> bool {
                self.0 >> (reg.0 & 127) & 1 != 0
            }
            /// The registers in either set.
            #[must_use]
            pub const fn union(self, other: RegSet) -> RegSet {
                RegSet(self.0 | other.0)
            }
            /// Whether the set is empty.
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }
            /// The members, lowest number first.
            pub fn iter(self) -> impl Iterator<Item = Reg> {
                let mut rest = self.0;
                core::iter::from_fn(move || {
                    if rest == 0 {
                        return None;
                    }
                    let n = rest.trailing_zeros() as u8;
                    rest &= rest - 1;
                    Some(Reg(n))
                })
            }
        }

        impl fmt::Debug for RegSet {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_set().entries(self.iter()).finish()
            }
        }
    };
}
