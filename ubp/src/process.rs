//! Processes: architecture, threads, memory map, auxiliary vector.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, io, thread};

use crate::arch;
use crate::descriptors::open_by_reserve;
use crate::{Address, Arch, Error, Pid, Result, Tid};

/// A traced process.
#[derive(Clone, Debug)]
pub struct Process {
    pub(crate) pid: Pid,
    pub(crate) arch: Arch,
    pub(crate) executable: PathBuf,
    pub(crate) auxv: Auxv,
    pub(crate) threads: BTreeSet<Tid>,
    /// Mappings that hold breakpoints and do not belong to the program.
    pub(crate) hidden: Vec<(u64, u64)>,
}

impl Process {
    /// The process id.
    pub fn pid(&self) -> Pid {
        self.pid
    }
    /// The architecture of the process's program.
    pub fn arch(&self) -> Arch {
        self.arch
    }
    /// The path of the program. `/proc/PID/exe` opens the program even if the path no longer exists.
    pub fn executable(&self) -> &Path {
        &self.executable
    }
    /// The traced threads of the process.
    pub fn threads(&self) -> impl Iterator<Item = Tid> {
        self.threads.iter().copied()
    }
    /// The auxiliary vector, as the kernel passed it to the program.
    pub fn auxv(&self) -> &Auxv {
        &self.auxv
    }
    /// The memory map at this moment, without the storage of breakpoints.
    ///
    /// # Errors
    /// [`Error::NoSuchProcess`] if the process has ended.
    pub fn maps(&self) -> Result<Vec<Mapping>> {
        let mut maps = read_maps(self.pid)?;
        maps.retain(|map| !self.hidden.iter().any(|&(start, end)| map.start.0 >= start && map.end.0 <= end));
        Ok(maps)
    }
}

/// One line of /proc/PID/maps (proc_pid_maps(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First byte.
    pub start: Address,
    /// First byte after the mapping.
    pub end: Address,
    /// The mapping can be read.
    pub read: bool,
    /// The mapping can be written.
    pub write: bool,
    /// The mapping can be executed.
    pub execute: bool,
    /// The mapping is shared: other processes that map the file see writes.
    pub shared: bool,
    /// Offset in the file in bytes.
    pub offset: u64,
    /// Device of the file, in the form of `st_dev` (stat(2)). Some file systems (btrfs, overlay) report another device in stat(2).
    pub device: u64,
    /// Inode of the file, or 0 without a file.
    pub inode: u64,
    /// Path of the file, or the kernel's name for the mapping, such as `[vdso]`.
    pub path: Option<PathBuf>,
    /// The file is unlinked.
    pub deleted: bool,
}

impl Mapping {
    /// Whether the mapping contains `address`.
    pub fn contains(&self, address: Address) -> bool {
        self.start <= address && address < self.end
    }

    fn parse(line: &[u8]) -> Option<Mapping> {
        let mut fields = line.splitn(6, |&byte| byte == b' ');
        let mut text = || std::str::from_utf8(fields.next()?).ok();
        let (start, end) = text()?.split_once('-')?;
        let flags = text()?.as_bytes();
        let offset = text()?;
        let (major, minor) = text()?.split_once(':')?;
        let number = |digits| u32::from_str_radix(digits, 16).ok();
        let device = libc::makedev(number(major)?, number(minor)?);
        let inode = text()?;
        let flag = |at: usize, letter: u8| flags.get(at) == Some(&letter);
        let name = fields.next().unwrap_or_default().trim_ascii_start();
        let (name, deleted) = match name.strip_suffix(b" (deleted)") {
            Some(name) => (name, true),
            None => (name, false),
        };
        Some(Mapping {
            start: Address(u64::from_str_radix(start, 16).ok()?),
            end: Address(u64::from_str_radix(end, 16).ok()?),
            read: flag(0, b'r'),
            write: flag(1, b'w'),
            execute: flag(2, b'x'),
            shared: flag(3, b's'),
            offset: u64::from_str_radix(offset, 16).ok()?,
            device,
            inode: inode.parse().ok()?,
            path: (!name.is_empty()).then(|| PathBuf::from(OsString::from_vec(unescape(name)))),
            deleted,
        })
    }
}

/// Reverts the kernel's octal escapes of newlines in names (seq_path).
fn unescape(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&byte, tail)) = rest.split_first() {
        if let Some(tail) = rest.strip_prefix(b"\\012") {
            out.push(b'\n');
            rest = tail;
        } else {
            out.push(byte);
            rest = tail;
        }
    }
    out
}

/// Reads a file of /proc/PID. The process may have ended.
pub(crate) fn read_proc(pid: Pid, file: &str) -> Result<Vec<u8>> {
    open_by_reserve(|| fs::read(format!("/proc/{pid}/{file}"))).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT | libc::ESRCH) => Error::NoSuchProcess(pid),
        Some(libc::EACCES | libc::EPERM) => Error::Permission(pid),
        _ => Error::File { path: format!("/proc/{pid}/{file}").into(), source: error },
    })
}

/// The whole memory map.
pub(crate) fn read_maps(pid: Pid) -> Result<Vec<Mapping>> {
    Ok(read_proc(pid, "maps")?.split(|&byte| byte == b'\n').filter_map(Mapping::parse).collect())
}

/// The auxiliary vector (getauxval(3)).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Auxv {
    entries: Vec<(u64, u64)>,
}

impl Auxv {
    /// The value of the entry with this type (`AT_…`).
    pub fn get(&self, kind: u64) -> Option<u64> {
        self.entries.iter().find(|entry| entry.0 == kind).map(|entry| entry.1)
    }
    /// The program's entry point (`AT_ENTRY`).
    pub fn entry(&self) -> Option<Address> {
        self.get(libc::AT_ENTRY).map(Address)
    }
    /// Address of the dynamic loader (`AT_BASE`); `None` in a statically linked program.
    pub fn base(&self) -> Option<Address> {
        self.get(libc::AT_BASE).filter(|&base| base != 0).map(Address)
    }
    /// The program headers in memory: address, size of one header in bytes, number of headers (`AT_PHDR`, `AT_PHENT`, `AT_PHNUM`).
    pub fn program_headers(&self) -> Option<(Address, u64, u64)> {
        Some((Address(self.get(libc::AT_PHDR)?), self.get(libc::AT_PHENT)?, self.get(libc::AT_PHNUM)?))
    }

    /// Parses /proc/PID/auxv, whose words have the width of the architecture.
    pub(crate) fn parse(bytes: &[u8], arch: Arch) -> Auxv {
        let width = arch.width();
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        let entries = bytes
            .chunks_exact(width * 2)
            .map(|pair| {
                let (kind, value) = pair.split_at(width);
                (word(kind), word(value))
            })
            .take_while(|entry| entry.0 != libc::AT_NULL)
            .collect();
        Auxv { entries }
    }
}

/// The threads of a process.
pub(crate) fn read_threads(pid: Pid) -> Result<BTreeSet<Tid>> {
    let tasks = open_by_reserve(|| fs::read_dir(format!("/proc/{pid}/task"))).map_err(|_| Error::NoSuchProcess(pid))?;
    Ok(tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok().map(Tid)).collect())
}

/// The longest wait for the file system of a program. It may be served by another traced process, which may wait for the tracer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The first bytes of a program. They are read in a separate thread, because nothing else can end a wait for a file system.
fn read_header(path: PathBuf) -> io::Result<[u8; 20]> {
    let (answer, answered) = mpsc::channel();
    let read = move || {
        let mut header = [0; 20];
        let read = fs::File::open(path).and_then(|mut file| io::Read::read_exact(&mut file, &mut header));
        // After the timeout the receiver is gone.
        let _ = answer.send(read.map(|()| header));
    };
    thread::Builder::new().name("header".into()).spawn(read)?;
    answered.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// The architecture of a process's program, by its ELF header.
fn read_arch(pid: Pid) -> Result<Arch> {
    let path = PathBuf::from(format!("/proc/{pid}/exe"));
    let header = match open_by_reserve(|| read_header(path.clone())) {
        Ok(header) => header,
        Err(error) => {
            return Err(match error.raw_os_error() {
                Some(libc::ENOENT | libc::ESRCH) => Error::NoSuchProcess(pid),
                Some(libc::EACCES | libc::EPERM) => Error::Permission(pid),
                _ => Error::File { path, source: error },
            });
        }
    };
    let class = header[4];
    let machine = u16::from_le_bytes([header[18], header[19]]);
    let known = arch::MACHINES.iter().find(|known| (known.0, known.1) == (class, machine));
    known.map(|known| known.2).ok_or(Error::Architecture { pid, machine })
}

/// A process as /proc describes it, without threads.
pub(crate) fn read_process(pid: Pid) -> Result<Process> {
    let arch = read_arch(pid)?;
    let executable = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let auxv = Auxv::parse(&read_proc(pid, "auxv")?, arch);
    Ok(Process { pid, arch, executable, auxv, threads: Default::default(), hidden: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps_is_read_whole() {
        let line = b"7f0000001000-7f0000003000 r-xp 00002000 fe:01 1234                       /a b/lib\\012x (deleted)";
        let map = Mapping::parse(line).unwrap();
        assert_eq!((map.start, map.end), (Address(0x7f0000001000), Address(0x7f0000003000)));
        assert!(map.read && !map.write && map.execute && !map.shared && map.deleted);
        assert_eq!((map.offset, map.device, map.inode), (0x2000, libc::makedev(0xfe, 1), 1234));
        assert_eq!(map.path.unwrap().to_str().unwrap(), "/a b/lib\nx");
    }

    #[test]
    fn own_maps_hold_this_test() {
        let here = Address(own_maps_hold_this_test as *const () as u64);
        let maps = read_maps(Pid(std::process::id() as i32)).unwrap();
        assert!(maps.iter().any(|map| map.contains(here) && map.execute));
    }

    #[test]
    fn the_auxiliary_vector_of_a_32_bit_program_has_32_bit_words() {
        let mut bytes = Vec::new();
        for word in [9u32, 0x8048000, 7, 0xf7000000, 0, 0] {
            bytes.extend(word.to_le_bytes());
        }
        let auxv = Auxv::parse(&bytes, Arch::I386);
        assert_eq!(auxv.entry(), Some(Address(0x8048000)));
        assert_eq!(auxv.base(), Some(Address(0xf7000000)));
    }
}
