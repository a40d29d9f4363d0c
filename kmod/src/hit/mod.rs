// SPDX-License-Identifier: GPL-2.0

//! Threads that run into a breakpoint, and the hooks in the kernel.

pub(crate) mod actions;
pub(crate) mod hit;
