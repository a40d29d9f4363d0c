//! Filters: expressions that say which hits are wanted (`--if`).
//!
//! `lexer.rs` splits the text and `parser.rs` makes an expression of it. `bind.rs` finds what the names mean at a location (`place.rs`) and
//! refuses what makes no sense. `lower.rs` makes a condition that runs in the program or in the kernel as far as there is one, and
//! `evaluate.rs` computes the rest at a hit; what depends on the result of a function (`rest.rs`) waits for its return.

mod bind;
mod evaluate;
mod expression;
mod formula;
mod lexer;
mod lower;
mod parser;
mod place;
mod rest;
mod value;

pub(crate) use self::evaluate::Arrived;
pub(crate) use self::expression::Problem;
pub(crate) use self::formula::Formula;
pub(crate) use self::lower::Decision;
pub(crate) use self::rest::Rest;

use std::rc::Rc;

use self::bind::Source;
use self::expression::Expression;
use self::place::Place;
use crate::output::escaped;
use crate::process::Space;

/// The wanted hits.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    text: String,
    root: Expression<String>,
}

/// A filter at one location.
#[derive(Clone, Debug)]
pub(crate) struct Bound(Rc<Expression<Source>>);

impl Filter {
    /// Reads an expression.
    ///
    /// # Errors
    /// The problem says at which character the expression makes no sense.
    pub(crate) fn parse(text: &str) -> Result<Filter, Problem> {
        let root = parser::parse(text)?;
        bind::bind(&root, None)?;
        Ok(Filter { text: text.into(), root })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The number of characters before the first `retval`.
    pub(crate) fn result_at(&self) -> Option<usize> {
        bind::result_at(&self.root)
    }

    /// What the filter means at an address, and what decides there.
    ///
    /// # Errors
    /// The problem says which part asks for something that is not there.
    pub(crate) fn at(&self, space: &Space, address: u64) -> Result<(Bound, Decision), Problem> {
        let place = Place::new(space, address);
        let bound = bind::bind(&self.root, Some(&place))?;
        let decision = match place.arch() {
            Some(arch) => lower::decide(&bound, arch),
            None => Decision { condition: None, whole: false, never: false },
        };
        Ok((Bound(Rc::new(bound)), decision))
    }
}

/// What a filter says of a hit.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    Wanted,
    Unwanted,
    /// The result of the function decides.
    Later(Rest),
}

impl Bound {
    /// What the filter says. A hit is unwanted where what can be read does not decide it.
    pub(crate) fn judge(&self, arrived: &mut Arrived<'_>) -> Verdict {
        match arrived.holds(&self.0) {
            Some(true) => Verdict::Wanted,
            None if bind::asks_for_result(&self.0) => Verdict::Later(Rest::of(&self.0, arrived)),
            Some(false) | None => Verdict::Unwanted,
        }
    }
}

/// The text of an expression and a line with a caret below the place of a problem.
pub(crate) fn pointed(text: &str, problem: &Problem) -> [String; 2] {
    let before: String = text.chars().take(problem.at).collect();
    let width = escaped(before).chars().count();
    [format!("  {text}"), format!("  {:width$}^", "")]
}
