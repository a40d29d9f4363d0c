//! Traps of jumps: there are none.

use super::Next;
use crate::ptrace::reports::Reports;
use crate::ptrace::sys::SigInfo;
use crate::ptrace::tracees::Tracees;
use crate::{Result, Tid};

/// Handles nothing: no jump covers code to which threads branch, and no trampoline stops them.
pub(super) fn on_trapped(_: &mut Tracees, _: &mut Reports, _: Tid, _: &SigInfo) -> Result<Option<Next>> {
    Ok(None)
}
