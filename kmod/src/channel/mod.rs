// SPDX-License-Identifier: GPL-2.0

//! The way from the kernel to the user of a session: replies and events.

pub(crate) mod channel;
pub(crate) mod queue;
pub(crate) mod ring;
pub(crate) mod wait_count;
