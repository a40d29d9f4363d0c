//! A process' memory and mappings.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::{io, str};

use super::arch::is_unreadable;
use crate::item::Mapping;

/// Bytes to read at an instruction: more than it can have, because the next one likely follows.
pub(super) const AHEAD: usize = 64;
/// A process with recorded threads.
pub(super) struct Process {
    pid: u32,
    pub(super) memory: File,
    /// Executable ranges of addresses that the trace has.
    known: Vec<(u64, u64)>,
    told: Vec<Mapping>,
    /// Mappings that are known and that the trace does not have.
    pub(super) unwritten: Vec<Mapping>,
    /// The mappings may have changed.
    pub(super) stale: bool,
}

impl Process {
    pub(super) fn open(pid: u32) -> io::Result<Process> {
        let memory = File::options().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
        Ok(Process { pid, memory, known: Vec::new(), told: Vec::new(), unwritten: Vec::new(), stale: true })
    }

    /// Reads the readable bytes at an address.
    pub(super) fn code<'a>(&self, address: u64, buffer: &'a mut [u8; AHEAD]) -> &'a [u8] {
        if is_unreadable(address) {
            return &[];
        }
        let read = self.memory.read_at(buffer, address).unwrap_or(0);
        &buffer[..read]
    }

    /// Reads `N` bytes.
    pub(super) fn read<const N: usize>(&self, address: u64) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.memory.read_exact_at(&mut bytes, address)?;
        Ok(bytes)
    }

    /// After new code was seen at `address`: the mappings of files with code that the trace does not have yet.
    pub(super) fn fresh_mappings(&mut self, address: u64) -> Vec<Mapping> {
        if !self.stale && self.known.iter().any(|&(start, end)| (start..end).contains(&address)) {
            return Vec::new();
        }
        self.stale = false;
        let text = fs::read(format!("/proc/{}/maps", self.pid)).unwrap_or_default();
        let all = mappings(self.pid, &text);
        self.known = all.iter().map(|(mapping, _)| (mapping.start, mapping.end)).collect();
        let files = all.into_iter().filter(|(mapping, is_code)| *is_code && !mapping.path.is_empty());
        let files: Vec<Mapping> = files.map(|(mapping, _)| mapping).collect();
        let fresh = files.iter().filter(|mapping| !self.told.contains(mapping)).cloned().collect();
        self.told = files;
        fresh
    }
}

/// Parses /proc/PID/maps (proc_pid_maps(5)); each mapping comes with whether it is executable.
fn mappings(pid: u32, text: &[u8]) -> Vec<(Mapping, bool)> {
    let mut all: Vec<(Mapping, bool)> = Vec::new();
    for line in text.split(|&byte| byte == b'\n') {
        let mut fields = line.splitn(6, |&byte| byte == b' ');
        let (Some(range), Some(rights)) = (fields.next(), fields.next()) else { continue };
        let path = fields.nth(3).unwrap_or_default().trim_ascii_start();
        let Some((start, end)) = str::from_utf8(range).ok().and_then(|range| range.split_once('-')) else { continue };
        let number = |text| u64::from_str_radix(text, 16).unwrap_or(0);
        let (start, end) = (number(start), number(end));
        let base = match all.last() {
            Some((before, _)) if before.path == path && !path.is_empty() => before.base,
            _ => start,
        };
        all.push((Mapping { pid, start, end, base, path: path.to_vec() }, rights.get(2) == Some(&b'x')));
    }
    all
}

/// A thread's process and tracer (proc_pid_status(5)); `None` if the thread is gone.
pub(super) fn status(tid: u32) -> Option<(u32, u32)> {
    let text = fs::read(format!("/proc/{tid}/status")).ok()?;
    // The name of a thread may be any bytes.
    let text = String::from_utf8_lossy(&text);
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some((field("Tgid:")?, field("TracerPid:")?))
}

/// The threads of a process.
pub(super) fn threads(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let names = tasks.into_iter().flatten().filter_map(|task| Some(task.ok()?.file_name()));
    names.filter_map(|name| str::from_utf8(name.as_bytes()).ok()?.parse().ok()).collect()
}
