//! A macro for the numbers of the generated tables. insn-gen, which writes the tables, includes this file.

/// Defines constants, and `NAMES`: what the data file calls each.
macro_rules! codes {
    ($type:ty: $($(#[$doc:meta])* $name:ident = $value:expr, $text:literal;)*) => {
        $($(#[$doc])* pub(crate) const $name: $type = $value;)*
        /// What the data file calls each constant.
        pub(crate) const NAMES: &[(&str, $type)] = &[$(($text, $value)),*];
    };
}
