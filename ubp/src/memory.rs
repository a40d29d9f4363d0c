//! Memory of debuggees through /proc/PID/mem, which can write to code.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

use stepping::Fault;

use crate::descriptors::open_by_reserve;
use crate::{Error, Pid, Result};

/// Reads memory at an address and returns the number of bytes read.
pub(crate) type Read<'a> = dyn Fn(u64, &mut [u8]) -> usize + 'a;

/// The number of `width` bytes at an address, at most 8.
pub(crate) fn word(read: &Read<'_>, address: u64, width: usize) -> Option<u64> {
    let mut raw = [0; 8];
    let part = raw.get_mut(..width)?;
    (read(address, part) == width).then(|| u64::from_le_bytes(raw))
}

/// The memory of one address space. It remains that address space when the process executes another program.
#[derive(Debug)]
pub(crate) struct ProcessMemory {
    file: File,
}

impl ProcessMemory {
    pub(crate) fn open(pid: Pid) -> Result<ProcessMemory> {
        let path = format!("/proc/{pid}/mem");
        match open_by_reserve(|| OpenOptions::new().read(true).write(true).open(&path)) {
            Ok(file) => Ok(ProcessMemory { file }),
            Err(source) => Err(match source.raw_os_error() {
                Some(libc::ENOENT | libc::ESRCH) => Error::NoSuchProcess(pid),
                Some(libc::EACCES | libc::EPERM) => Error::Permission(pid),
                _ => Error::File { path: path.into(), source },
            }),
        }
    }

    /// Reads from `address` on and returns the number of bytes read.
    pub(crate) fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, address.wrapping_add(done as u64)) {
                Ok(count) if count > 0 => done += count,
                _ => break,
            }
        }
        done
    }

    /// Writes at `address` and returns the number of bytes written.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> usize {
        let mut done = 0;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            match self.file.write_at(rest, address.wrapping_add(done as u64)) {
                Ok(count) if count > 0 => done += count,
                _ => break,
            }
        }
        done
    }

    pub(crate) fn read_array<const LENGTH: usize>(&self, address: u64) -> Option<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        (self.read(address, &mut bytes) == LENGTH).then_some(bytes)
    }

    pub(crate) fn read_word(&self, address: u64, width: usize) -> Option<u64> {
        word(&|address, buffer| self.read(address, buffer), address, width)
    }
}

/// Memory that is read and never written: what a trampoline has pushed.
pub(crate) struct ReadOnly<'a>(pub(crate) &'a ProcessMemory);

impl stepping::Memory for ReadOnly<'_> {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> std::result::Result<(), Fault> {
        let count = self.0.read(address, buffer);
        if count == buffer.len() { Ok(()) } else { Err(Fault::Page(address.wrapping_add(count as u64))) }
    }
    fn write(&mut self, address: u64, _: &[u8]) -> std::result::Result<(), Fault> {
        Err(Fault::Page(address))
    }
}
