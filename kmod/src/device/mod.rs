// SPDX-License-Identifier: GPL-2.0

//! The device `/dev/ntrace`: its files, their sessions, and the commands.

pub(crate) mod commands;
pub(crate) mod file_operations;
pub(crate) mod session;
