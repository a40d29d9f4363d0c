//! A function, its parameters, and where those lie at its first instruction.

use std::rc::Rc;

use super::location::Location;
use super::model::{Language, Type, TypeError};

/// The numbers of the stack pointer and the frame pointer on x86-64 and arm64 in debug information.
pub(super) const FRAME: [u16; 4] = [6, 7, 29, 31];

/// A function.
#[derive(Debug)]
#[non_exhaustive]
pub struct Function {
    /// Its name in the source code.
    pub name: String,
    /// The convention to which it keeps.
    pub language: Language,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// What it returns: several values in Go, else one or none. The error tells why a type is not known.
    pub results: Vec<std::result::Result<Rc<Type>, TypeError>>,
    /// Whether the compiler gave it a convention of its own, since it knows all its callers.
    pub is_own: bool,
}

/// A parameter.
#[derive(Debug)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its type, or why that is not known.
    pub kind: std::result::Result<Rc<Type>, TypeError>,
    /// Where it lies at the function's first instruction.
    pub(crate) known: Known,
}

/// Where a parameter lies at the function's first instruction.
#[derive(Debug)]
pub(crate) enum Known {
    /// Where an expression says.
    Location(Location),
    /// It always has this value.
    Constant(u64),
    /// Where the calling convention says.
    Convention,
    /// Nowhere: the compiler left it out.
    Gone,
}

/// What the symbols of a function tell of its callers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linkage {
    /// The compiler made it from a function, with other parameters.
    pub(crate) copy: bool,
    /// Other files may call it.
    pub(crate) global: bool,
}
