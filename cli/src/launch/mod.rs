//! Starts a program or attaches to a process, for `trace`, `count` and `record`: finds the program, checks that it can be traced, and
//! explains why not.

mod attach;
mod following;
mod group;
mod program;
mod status;

pub(crate) use self::attach::{attach_failure, check_process, record_failure};
pub(crate) use self::following::follow;
pub(crate) use self::group::{Running, processes_executing, processes_named, processes_of_container, running};
pub(crate) use self::program::{command, not_permitted_to_trace, spawn_failure, start_failure, which};
pub(crate) use self::status::named;
