// SPDX-License-Identifier: GPL-2.0

//! System calls, signals and accesses of memory of debuggees, as far as sessions ask for them.

mod accesses;
pub(crate) mod choice;
mod signals;
mod syscalls;
pub(crate) mod watches;
