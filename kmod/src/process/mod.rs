// SPDX-License-Identifier: GPL-2.0

//! Traced processes: attachment, fork, exec and exit.

pub(crate) mod attachment;
pub(crate) mod debuggee;
pub(crate) mod lifecycle;
