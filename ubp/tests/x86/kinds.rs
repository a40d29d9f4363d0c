//! 32-bit programs.

use ubp::Arch;

use crate::common::*;

#[test]
fn a_32_bit_program_is_traced_as_a_64_bit_one() {
    assert_eq!(counted("compat", &["-m32"], COMPAT, Arch::I386), 52);
}

#[test]
fn a_static_32_bit_program_is_traced() {
    assert_eq!(counted("compat", &["-m32", "-static"], COMPAT, Arch::I386), 52);
}
