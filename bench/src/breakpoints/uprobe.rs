//! The kernel's uprobes, counting, through perf_event_open(2).

use std::ffi::CString;
use std::fs;
use std::os::fd::{FromRawFd, OwnedFd};

use anyhow::{Context, Result, bail};

use super::debuggee::Debuggee;

/// The head of `struct perf_event_attr` (include/uapi/linux/perf_event.h), its first published size.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    /// Of a uprobe: the path, as a pointer.
    config1: u64,
    /// Of a uprobe: the offset in the file.
    config2: u64,
}

/// Nanoseconds of `count` hits.
pub(super) fn hits(site: usize, count: u64) -> Result<u64> {
    let mut debuggee = Debuggee::start()?;
    let _event = open(debuggee.pid(), debuggee.sites[site])?;
    debuggee.ask(site, count)?;
    debuggee.answer()
}

fn open(pid: i32, address: u64) -> Result<OwnedFd> {
    let kind = fs::read_to_string("/sys/bus/event_source/devices/uprobe/type").context("this kernel has no uprobes")?;
    let (path, offset) = place(pid, address)?;
    let path = CString::new(path)?;
    let attributes = Attributes {
        kind: kind.trim().parse()?,
        size: size_of::<Attributes>() as u32,
        config1: path.as_ptr() as u64,
        config2: offset,
        ..Attributes::default()
    };
    // SAFETY: the attributes and the path that they point to live until the call returns; the kernel only reads them.
    let event = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, pid, -1, -1, 0) };
    if event < 0 {
        bail!("perf_event_open: {}", std::io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(event as i32) })
}

/// The file that is mapped at an address, and the address' offset in it.
fn place(pid: i32, address: u64) -> Result<(String, u64)> {
    for line in fs::read_to_string(format!("/proc/{pid}/maps"))?.lines() {
        let mut fields = line.split_whitespace();
        let (range, offset, path) = (fields.next(), fields.nth(1), fields.nth(2));
        let (Some(range), Some(offset), Some(path)) = (range, offset, path) else { continue };
        let Some((start, end)) = range.split_once('-') else { continue };
        let [start, end, offset] = [start, end, offset].map(|number| u64::from_str_radix(number, 16).unwrap_or(0));
        if (start..end).contains(&address) {
            return Ok((path.to_owned(), address - start + offset));
        }
    }
    bail!("nothing is mapped at {address:#x}")
}
