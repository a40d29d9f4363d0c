//! Where something lies, as an expression says it.

use gimli::{Encoding, Expression, Operation};

use super::model::TypeId;
use super::units::Result;
use crate::reader::Reader;

/// A location expression.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    pub(crate) expression: Expression<Reader>,
    pub(crate) encoding: Encoding,
    /// An entry of the unit to which the expression belongs. Unwind information belongs to none.
    pub(crate) unit: Option<TypeId>,
}

/// Whether an expression names a place in the frame of the caller, where arguments on the stack lie, if the frame of a function begins where
/// that of its caller ends.
pub(super) fn is_of_caller(location: &Location) -> Result<bool> {
    let mut operations = location.expression.clone().operations(location.encoding);
    Ok(matches!((operations.next()?, operations.next()?), (Some(Operation::FrameOffset { offset: 0.. }), None)))
}

/// Whether an expression says that the frame of a function begins where that of its caller ends.
pub(super) fn is_cfa(base: &Location) -> Result<bool> {
    let mut operations = base.expression.clone().operations(base.encoding);
    Ok(matches!((operations.next()?, operations.next()?), (Some(Operation::CallFrameCFA), None)))
}
