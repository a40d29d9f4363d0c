// SPDX-License-Identifier: GPL-2.0

//! Threads that a session holds or steps.

pub(crate) mod held;
pub(crate) mod step;
