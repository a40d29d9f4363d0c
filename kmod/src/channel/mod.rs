// SPDX-License-Identifier: GPL-2.0

//! The channel from the kernel to the user of a session: replies and events, and threads that wait for them.

pub(crate) mod channel;
pub(crate) mod circular;
pub(crate) mod messages;
pub(crate) mod opener;
pub(crate) mod queue;
pub(crate) mod reader;
pub(crate) mod ring;
pub(crate) mod wait_count;
