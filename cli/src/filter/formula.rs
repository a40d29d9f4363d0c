//! Expressions whose value is asked for, in the language of filters.

use super::evaluate::Arrived;
use super::expression::{Expression, Problem};
use super::{bind, parser};

/// An expression whose value is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Formula(Expression<String>);

impl Formula {
    /// Reads an expression.
    ///
    /// # Errors
    /// The problem says at which character the expression makes no sense.
    pub(crate) fn parse(text: &str) -> Result<Formula, Problem> {
        let root = parser::parse(text)?;
        bind::meaning(&root, None)?;
        Ok(Formula(root))
    }

    /// The value for a thread, as text.
    ///
    /// # Errors
    /// The text says which name means nothing there, or that a part cannot be read.
    pub(crate) fn value(&self, arrived: &mut Arrived<'_>) -> Result<String, String> {
        let bound = bind::meaning(&self.0, Some(&arrived.place())).map_err(|problem| problem.to_string())?;
        let value = arrived.value(&bound).ok_or("a part of it cannot be read, or has no value")?;
        Ok(value.to_string())
    }
}
