// SPDX-License-Identifier: GPL-2.0

//! Address spaces: their breakpoint storages, their mappings, and access to their memory.

pub(crate) mod current;
pub(crate) mod interrupted_hits;
pub(crate) mod mappings;
pub(crate) mod space;
pub(crate) mod space_table;
