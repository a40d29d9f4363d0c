// SPDX-License-Identifier: GPL-2.0

//! Memory: address spaces with breakpoints, their mappings, and how they are read and written from here and from elsewhere.

pub(crate) mod atomic;
pub(crate) mod current;
pub(crate) mod handed;
pub(crate) mod interrupted_hits;
pub(crate) mod mappings;
pub(crate) mod mm_ref;
pub(crate) mod remote;
pub(crate) mod space;
