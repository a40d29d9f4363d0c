//! Which conditions and aggregations of breakpoints have a rule of the channel.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{AggregationId, Condition};

/// The number of a rule in the channel. Sites keep it while they name the rule.
pub(super) type RuleNumber = Arc<u64>;

/// Which hits a rule takes, and to which aggregation it adds them.
pub(super) type Declared = (Option<Condition>, Option<AggregationId>);

/// The rules of a channel; `None` for a condition that is no rule.
#[derive(Debug, Default)]
pub(super) struct Ruled(pub(super) HashMap<Declared, Option<RuleNumber>>);
