//! Expressions whose value is asked for, in the language of filters.

use super::evaluate::Arrived;
use super::expression::{Expression, Problem};
use super::value::Value;
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

    /// The value for a thread, as a number without fraction.
    ///
    /// # Errors
    /// Those of [`Formula::value`], and that the value is no number.
    pub(crate) fn number(&self, arrived: &mut Arrived<'_>) -> Result<i128, String> {
        let value = self.computed(arrived)?;
        value.number().ok_or_else(|| "this is no number without fraction".into())
    }

    /// The value for a thread, as a number with a fraction.
    ///
    /// # Errors
    /// Those of [`Formula::value`], and that the value is no number.
    pub(crate) fn float(&self, arrived: &mut Arrived<'_>) -> Result<f64, String> {
        self.computed(arrived)?.float().ok_or_else(|| "this is no number".into())
    }

    /// The value for a thread, as text.
    ///
    /// # Errors
    /// The text says which name means nothing there, or that a part cannot be read.
    pub(crate) fn value(&self, arrived: &mut Arrived<'_>) -> Result<String, String> {
        self.computed(arrived).map(|value| value.to_string())
    }

    fn computed(&self, arrived: &mut Arrived<'_>) -> Result<Value, String> {
        let bound = bind::meaning(&self.0, Some(&arrived.place())).map_err(|problem| problem.to_string())?;
        arrived.value(&bound).ok_or_else(|| "a part of it cannot be read, or has no value".into())
    }
}
