//! What is left of an expression when a function is entered: what depends on its result.

use std::rc::Rc;

use super::bind::{Source, asks_for_result};
use super::evaluate::Arrived;
use super::expression::{Expression, Node, Operator};
use super::value::Value;

/// An expression in which all but the result of a function is known.
#[derive(Clone, Debug)]
pub(crate) struct Rest(Rc<Expression<Source>>);

/// Whether both are of one call.
impl PartialEq for Rest {
    fn eq(&self, other: &Rest) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Rest {}

impl Rest {
    /// Takes the values that are there when a function is entered.
    pub(super) fn of(expression: &Expression<Source>, arrived: &mut Arrived<'_>) -> Rest {
        Rest(Rc::new(taken(expression, arrived)))
    }

    /// Whether the expression holds for a thread to which a function has just returned. It does not where what can be read does not decide it.
    pub(crate) fn holds(&self, returned: &mut Arrived<'_>) -> bool {
        returned.holds(&self.0) == Some(true)
    }
}

/// The same expression with its parts replaced by their values.
fn taken(expression: &Expression<Source>, arrived: &mut Arrived<'_>) -> Expression<Source> {
    let mut inside = |inner: &Expression<Source>| Box::new(taken(inner, arrived));
    let node = match &expression.node {
        _ if !asks_for_result(expression) => {
            Node::Name(value(expression, arrived).map_or(Source::Later, Source::Taken))
        }
        Node::Load { size, signed, address } => Node::Load { size: *size, signed: *signed, address: inside(address) },
        Node::Cast { size, signed, inner } => Node::Cast { size: *size, signed: *signed, inner: inside(inner) },
        Node::Not(inner) => Node::Not(inside(inner)),
        Node::Negative(inner) => Node::Negative(inside(inner)),
        Node::Inverse(inner) => Node::Inverse(inside(inner)),
        Node::Two(operator, left, right) => Node::Two(*operator, inside(left), inside(right)),
        Node::Name(_) | Node::Number(_) | Node::Time(_) | Node::Text(_) | Node::Address(_) => expression.node.clone(),
    };
    Expression::new(expression.at, node)
}

fn value(expression: &Expression<Source>, arrived: &mut Arrived<'_>) -> Option<Value> {
    match &expression.node {
        Node::Not(_) | Node::Two(Operator::And | Operator::Or, ..) => {
            arrived.holds(expression).map(|holds| Value::Number(holds.into()))
        }
        _ => arrived.value(expression),
    }
}
