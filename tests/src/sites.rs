//! Breakpoints on a channel.

use std::fs::File;

use wire::Failure;
use wire::commands::{Command, Reply};
use wire::site::{Memory, Site};

use crate::channel::ask;
use crate::words;

/// Sets breakpoints that only count; returns their number, and for each refused one its place and reason.
///
/// # Errors
/// The kernel's.
pub fn insert(file: &mut File, debuggee: u64, addresses: &[u64]) -> Result<(u64, Vec<[u64; 3]>), Failure> {
    let site = |address: &u64| Site { address: *address, actions: 0, memory: Memory::NONE, condition: None }.bytes();
    let sites: Vec<u8> = addresses.iter().flat_map(site).collect();
    ask(file, Command::Insert { debuggee, sites: &sites }, |told| match told? {
        Reply::Insert { inserted, failures } => {
            Ok((inserted, words(failures).chunks_exact(3).map(|row| [row[0], row[1], row[2]]).collect()))
        }
        other => panic!("{other:?}"),
    })
}

/// Removes breakpoints; returns how many there were.
///
/// # Errors
/// The kernel's.
pub fn remove(file: &mut File, debuggee: u64, addresses: &[u64]) -> Result<u64, Failure> {
    ask(file, Command::Remove { debuggee, addresses: &bytes(addresses) }, |told| match told? {
        Reply::Remove { removed } => Ok(removed),
        other => panic!("{other:?}"),
    })
}

/// Hits of each.
///
/// # Errors
/// The kernel's.
pub fn counts(file: &mut File, debuggee: u64, addresses: &[u64]) -> Result<Vec<u64>, Failure> {
    ask(file, Command::Counts { debuggee, addresses: &bytes(addresses) }, |told| match told? {
        Reply::Counts { counts } => Ok(words(counts)),
        other => panic!("{other:?}"),
    })
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}
