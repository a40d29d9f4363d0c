//! The kernel's uprobes, counting.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use crossing::uprobe::uprobe;

use super::debuggee::Debuggee;

/// Nanoseconds of `count` hits.
pub(super) fn hits(site: usize, count: u64) -> Result<u64> {
    let mut debuggee = Debuggee::start()?;
    let (file, offset) = place(debuggee.pid(), debuggee.sites[site])?;
    let _event = uprobe(debuggee.pid() as u32, &file, offset).context("no uprobe")?;
    debuggee.ask(site, count)?;
    debuggee.answer()
}

/// The file that is mapped at an address, and the address' offset in it.
fn place(pid: i32, address: u64) -> Result<(PathBuf, u64)> {
    for line in fs::read_to_string(format!("/proc/{pid}/maps"))?.lines() {
        let mut fields = line.split_whitespace();
        let (range, offset, path) = (fields.next(), fields.nth(1), fields.nth(2));
        let (Some(range), Some(offset), Some(path)) = (range, offset, path) else { continue };
        let Some((start, end)) = range.split_once('-') else { continue };
        let [start, end, offset] = [start, end, offset].map(|number| u64::from_str_radix(number, 16).unwrap_or(0));
        if (start..end).contains(&address) {
            return Ok((path.into(), address - start + offset));
        }
    }
    bail!("nothing is mapped at {address:#x}")
}
