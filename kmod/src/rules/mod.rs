// SPDX-License-Identifier: GPL-2.0

//! Rules of a session: on which hits it acts, and which numbers it sums up there.

pub(crate) mod aggregate;
pub(crate) mod reader;
pub(crate) mod rule;
pub(crate) mod table;
