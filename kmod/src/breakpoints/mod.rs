// SPDX-License-Identifier: GPL-2.0

//! Breakpoints of an address space: insertion, removal, and the slots that threads run through.

pub(crate) mod arena_cache;
pub(crate) mod insert;
pub(crate) mod patch;
pub(crate) mod table;
pub(crate) mod teardown;
pub(crate) mod uprobes;
