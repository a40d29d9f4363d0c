// SPDX-License-Identifier: GPL-2.0

//! Traced processes: attachments, and what becomes of a process at fork, exec and exit.

pub(crate) mod adoption;
pub(crate) mod attachment;
pub(crate) mod debuggee;
pub(crate) mod job;
pub(crate) mod kept;
pub(crate) mod lifecycle;
pub(crate) mod registry;
pub(crate) mod traced;
pub(crate) mod traced_table;
