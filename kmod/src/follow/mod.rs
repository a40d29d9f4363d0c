// SPDX-License-Identifier: GPL-2.0

//! Processes that become debuggees when they execute a program.

pub(crate) mod newcomer;
pub(crate) mod rule;
