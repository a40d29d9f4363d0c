// SPDX-License-Identifier: GPL-2.0

//! Threads that a session holds, and the steps that they carry out.

pub(crate) mod held;
pub(crate) mod hold;
pub(crate) mod step;
