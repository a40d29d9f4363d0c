//! The value of a part of an expression.

use std::fmt;

/// The value of a part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(i128),
    Float(f64),
    Text(String),
    /// A value of an enumeration: its name, and its number if a register has it.
    Named(String, Option<i128>),
}

impl Value {
    pub(super) fn holds(&self) -> Option<bool> {
        match self {
            Value::Number(value) | Value::Named(_, Some(value)) => Some(*value != 0),
            Value::Float(value) => Some(*value != 0.0),
            Value::Text(_) | Value::Named(_, None) => None,
        }
    }

    pub(super) fn number(self) -> Option<i128> {
        match self {
            Value::Number(value) => Some(value),
            Value::Named(_, value) => value,
            Value::Float(_) | Value::Text(_) => None,
        }
    }

    pub(super) fn float(self) -> Option<f64> {
        match self {
            Value::Float(value) => Some(value),
            other => other.number().map(|value| value as f64),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Named(name, _) => f.write_str(name),
        }
    }
}
