//! Sets of registers, which architectures have alike.

/// Defines `RegSet` over the `Reg` of the module, a number below 128.
macro_rules! register_set {
    () => {
        /// A set of registers as bits, numbered by [`Reg::number`].
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct RegSet(u128);

        impl RegSet {
            /// No register.
            pub const EMPTY: RegSet = RegSet(0);

            /// The set of the given bits.
            pub const fn from_bits(bits: u128) -> RegSet {
                RegSet(bits)
            }
            /// The bits.
            pub const fn bits(self) -> u128 {
                self.0
            }
            /// With `reg` added.
            #[must_use]
            pub const fn with(self, reg: Reg) -> RegSet {
                RegSet(self.0 | 1 << (reg.0 & 127))
            }
            /// Without `reg`.
            #[must_use]
            pub const fn without(self, reg: Reg) -> RegSet {
                RegSet(self.0 & !(1 << (reg.0 & 127)))
            }
            /// Whether `reg` is a member.
            pub const fn contains(self, reg: Reg) -> bool {
                self.0 >> (reg.0 & 127) & 1 != 0
            }
            /// What is in either.
            #[must_use]
            pub const fn union(self, other: RegSet) -> RegSet {
                RegSet(self.0 | other.0)
            }
            /// The registers that are in both sets.
            #[must_use]
            pub const fn intersection(self, other: RegSet) -> RegSet {
                RegSet(self.0 & other.0)
            }
            /// The registers of this set that are not in `other`.
            #[must_use]
            pub const fn difference(self, other: RegSet) -> RegSet {
                RegSet(self.0 & !other.0)
            }
            /// All numbers that are not in the set, including those that name no register.
            #[must_use]
            pub const fn complement(self) -> RegSet {
                RegSet(!self.0)
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
