//! One call.

use std::rc::Rc;
use std::time::Duration;

use ubp::{Call, Event};

use super::tree::Stack;
use crate::filter::Rest;
use crate::values::{Callee, List, Value};

/// A call that has not returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) stack: Stack,
    pub(super) args: Option<Rc<[Value]>>,
    pub(super) callee: Callee,
    /// What the result has to satisfy, if that decides whether the call is wanted.
    pub(super) rest: Option<Rest>,
}

impl Open {
    pub(super) fn args(&self) -> String {
        self.args.as_deref().map(|args| List(args).to_string()).unwrap_or_default()
    }
}

/// A call that returned.
pub(super) struct Returned<'a> {
    pub(super) event: &'a Event,
    pub(super) call: &'a Call<Open>,
    /// The returned value, if it is wanted.
    pub(super) value: Option<&'a Value>,
}

impl Returned<'_> {
    /// The time of the call without the time in other traced functions.
    pub(super) fn own(&self) -> Duration {
        self.call.duration.saturating_sub(self.call.inner)
    }
}
