// SPDX-License-Identifier: GPL-2.0

//! The breakpoints of an address space: insertion, removal, slots, and uprobes at the same addresses.

pub(crate) mod arena_cache;
pub(crate) mod counts;
pub(crate) mod failure;
pub(crate) mod insert;
pub(crate) mod overwrite;
pub(crate) mod patch;
pub(crate) mod slot;
pub(crate) mod table;
pub(crate) mod teardown;
pub(crate) mod uprobes;
