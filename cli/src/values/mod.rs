//! The values that functions get and return: typed where debug information or a prototype tells the types, else integers and text.

mod json;
mod kind;
mod parameter;
mod prototypes;
mod reached;
mod thread;
mod value;

pub(crate) use self::kind::Kind;
pub(crate) use self::parameter::{Member, Memory, Parameter, parameters, result, scope, texts};
pub(crate) use self::reached::{Reached, reached};
pub(crate) use self::value::{Block, Callee, List, Value, needs_trap};
