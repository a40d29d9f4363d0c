//! What is in scope at an address.

use std::rc::Rc;

use super::location::Location;
use super::model::{Type, TypeError};

/// The variables that are in scope at an address: those of the function, of the blocks around the address in it, and of the functions that the
/// compiler inlined there.
#[derive(Debug)]
#[non_exhaustive]
pub struct Scope {
    /// Parameters first, then variables, and what belongs to an inner block or function behind what belongs to an outer one. A name that an
    /// inner one hides is left out.
    pub variables: Vec<Variable>,
    /// The address of the function's first instruction in the file.
    pub start: u64,
    /// From where the places of variables in the frame are counted.
    pub(crate) frame_base: Option<Location>,
}

/// A variable or a parameter that is in scope at an address.
#[derive(Debug)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type, or why that is not known.
    pub kind: std::result::Result<Rc<Type>, TypeError>,
    /// Whether it is a parameter.
    pub is_parameter: bool,
    /// The inlined function to which it belongs; `None` if it belongs to the function itself.
    pub inlined: Option<Rc<str>>,
    /// Where it lies at the address.
    pub(crate) lies: Lies,
}

/// Where a variable lies at an address.
#[derive(Debug)]
pub(crate) enum Lies {
    /// Where an expression says.
    At(Location),
    /// Nowhere; it always has this value. Zeros, or the bits of the sign, are left out at its end.
    Constant { bytes: Vec<u8>, is_negative: bool },
    /// In the frame, into which the function has not written it yet.
    Coming,
    /// Nowhere: the compiler left it out here.
    Gone,
}
