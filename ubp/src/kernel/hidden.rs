//! The kernel module's mappings in a debuggee.

use wire::commands::{Command, Reply};

use super::channel::Channel;
use crate::Pid;
use crate::Result;
use crate::arch::PAGE;
use crate::core::{Layout, MAGIC};
use crate::process::read_maps;

/// Offset of the capacity in an arena's header.
const CAPACITY: usize = 16;
/// Bytes of a header that are read.
const HEADER: u64 = 20;

/// Address ranges that hold tables, slots and records of breakpoints.
pub(super) fn storage(channel: &Channel, number: u64, pid: Pid) -> Result<Vec<(u64, u64)>> {
    let maps = read_maps(pid)?;
    let mut found = Vec::new();
    for map in maps.iter().filter(|map| map.execute && map.path.is_none() && map.inode == 0) {
        let read = Command::ReadMemory { debuggee: number, address: map.start.0, length: HEADER };
        let capacity = channel.ask(read, |told| match told {
            Ok(Reply::ReadMemory { bytes }) if bytes.starts_with(&MAGIC) => {
                bytes.get(CAPACITY..).and_then(|bytes| bytes.first_chunk()).map(|bytes| u32::from_le_bytes(*bytes))
            }
            _ => None,
        })?;
        if let Some(capacity) = capacity {
            let code = Layout::new(capacity).size().next_multiple_of(PAGE);
            let records = (u64::from(capacity) * wire::site::Site::BYTES as u64).next_multiple_of(PAGE);
            found.push((map.start.0, map.start.0 + code + records));
        }
    }
    Ok(found)
}
