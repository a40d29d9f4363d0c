// SPDX-License-Identifier: GPL-2.0

//! Hits: threads that run into breakpoint instructions, and what the breakpoints do then.

mod actions;
pub(crate) mod hit;
