//! Accesses of watched memory.

use std::fmt;

use serde::Serialize;
use ubp::{Access, Address, Event, Session, WatchId};

use crate::native;
use crate::process::{Description, Space, source};

/// The longest value that is shown, in bytes.
const LONGEST: usize = 8;

/// An access. The field names are the keys of the JSON form; those of the description are about the instruction.
#[derive(Debug, Serialize)]
pub(super) struct Accessed {
    /// The user's text.
    watch: String,
    /// The first byte of the watched memory.
    watched: String,
    /// The memory's value after the access, on arm64 before it; `None` for more than 8 bytes, and for executions.
    value: Option<String>,
    #[serde(flatten)]
    description: Description,
}

impl Accessed {
    /// `None`: the watchpoint is not the user's, or the thread was killed meanwhile.
    pub(super) fn new(
        session: &mut Session,
        space: &Space,
        event: &Event,
        id: WatchId,
        address: Address,
    ) -> Option<Accessed> {
        let watched = space.watches.get(&id)?;
        let pc = session.registers(event.tid).ok()?.pc().0;
        let is_data = watched.access != Access::Execute;
        let length = usize::try_from(watched.length).ok().filter(|length| is_data && *length <= LONGEST);
        let value = length.and_then(|length| {
            let mut bytes = [0; LONGEST];
            let bytes = bytes.get_mut(..length)?;
            let read = session.read_memory(event.pid, Address(watched.address), bytes).ok()?;
            let value = bytes.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
            (read == length).then(|| format!("{value:#x}"))
        });
        let behind = is_data && native::IS_BEHIND_ACCESS;
        let description = if behind { space.describe_caller(pc) } else { space.describe(space.module(pc), pc) };
        let start = if is_data { watched.address } else { address.0 };
        Some(Accessed { watch: watched.name.clone(), watched: format!("{start:#x}"), value, description })
    }
}

impl fmt::Display for Accessed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.watch)?;
        if let Some(value) = &self.value {
            write!(f, " = {value}")?;
        }
        write!(f, " by {}{}", self.description.location, source(&self.description))
    }
}
