//! `vFile`: files of this machine (GDB manual, "Host I/O Packets").

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::Server;
use super::answer::Answer;
use crate::protocol::{MOST_BYTES, hex};

/// Open files, by the numbers that the client knows them by.
#[derive(Debug, Default)]
pub(super) struct HostIo {
    files: BTreeMap<u64, File>,
    last: u64,
    /// The process whose file system paths are of; `None`: the server's.
    process: Option<u64>,
}

/// The most files that a client may have open.
const MOST_FILES: usize = 256;

/// The result of a request: a number and bytes, or the protocol's number of an error.
type Result<T> = std::result::Result<T, u32>;

const EBADF: u32 = 9;
const EINVAL: u32 = 22;
const EMFILE: u32 = 24;
const ENAMETOOLONG: u32 = 91;
const EUNKNOWN: u32 = 9999;

/// Errors that have the same number on Linux and in the protocol.
const SAME: [i32; 16] = [1, 2, 4, 9, 13, 14, 16, 17, 19, 20, 21, 22, 23, 24, 27, 28];

fn number(error: &io::Error) -> u32 {
    match error.raw_os_error() {
        Some(number @ (29 | 30)) => number as u32,
        Some(36) => ENAMETOOLONG,
        Some(number) if SAME.contains(&number) => number as u32,
        _ => EUNKNOWN,
    }
}

impl Server {
    /// `vFile:OPERATION:PARAMETERS`.
    pub(super) fn v_file(&mut self, text: &[u8]) -> Answer {
        let Some((operation, rest)) = hex::split(text, b':') else { return Answer::Unknown };
        let io = &mut self.host_io;
        let result = match operation {
            b"setfs" => io.set_process(rest),
            b"open" => io.open(rest),
            b"close" => io.close(rest),
            b"pread" => io.read(rest),
            b"pwrite" => io.write(rest),
            b"fstat" => io.stat(rest),
            b"unlink" => io.unlink(rest),
            b"readlink" => io.read_link(rest),
            _ => return Answer::Unknown,
        };
        match result {
            Ok((number, None)) => Answer::text(format!("F{number:x}")),
            Ok((number, Some(bytes))) => Answer::Bytes([format!("F{number:x};").as_bytes(), &bytes].concat()),
            Err(number) => Answer::text(format!("F-1,{number:x}")),
        }
    }
}

type Reply = Result<(u64, Option<Vec<u8>>)>;

impl HostIo {
    fn set_process(&mut self, text: &[u8]) -> Reply {
        self.process = hex::number(text).filter(|&pid| pid != 0);
        Ok((0, None))
    }

    /// A path as this process opens it. A process of another mount namespace has its own below its root.
    fn path(&self, digits: &[u8]) -> Result<PathBuf> {
        let path = PathBuf::from(OsString::from_vec(hex::decode(digits).ok_or(EINVAL)?));
        let Some(pid) = self.process else { return Ok(path) };
        let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
        if namespace(&pid.to_string()) == namespace("self") {
            return Ok(path);
        }
        let inside = path.strip_prefix("/").map(Path::to_path_buf).unwrap_or(path);
        Ok(Path::new(&format!("/proc/{pid}/root")).join(inside))
    }

    fn open(&mut self, text: &[u8]) -> Reply {
        let mut parts = text.split(|&byte| byte == b',');
        let path = self.path(parts.next().ok_or(EINVAL)?)?;
        let mut next = || parts.next().and_then(hex::number).ok_or(EINVAL);
        let (flags, mode) = (next()?, next()?);
        if self.files.len() >= MOST_FILES {
            return Err(EMFILE);
        }
        let has = |bit: u64| flags & bit != 0;
        let mut options = OpenOptions::new();
        // A pipe or a device of the debuggee does not hold up the server.
        options.custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits()).mode(mode as u32 & 0o7777);
        options.read(flags & 3 != 1).write(matches!(flags & 3, 1 | 2)).append(has(8)).truncate(has(0x400));
        options.create(has(0x200) && !has(0x800)).create_new(has(0x200) && has(0x800));
        let file = options.open(path).map_err(|error| number(&error))?;
        self.last += 1;
        self.files.insert(self.last, file);
        Ok((self.last, None))
    }

    fn file(&self, text: &[u8]) -> Result<&File> {
        hex::number(text).and_then(|number| self.files.get(&number)).ok_or(EBADF)
    }

    fn close(&mut self, text: &[u8]) -> Reply {
        let file = hex::number(text).and_then(|number| self.files.remove(&number));
        file.map(|_| (0, None)).ok_or(EBADF)
    }

    fn read(&mut self, text: &[u8]) -> Reply {
        let (file, rest) = hex::split(text, b',').ok_or(EINVAL)?;
        let (count, offset) = hex::pair(rest, b',').ok_or(EINVAL)?;
        let mut bytes = vec![0; usize::try_from(count).unwrap_or(usize::MAX).min(MOST_BYTES / 2 - 32)];
        let read = self.file(file)?.read_at(&mut bytes, offset).map_err(|error| number(&error))?;
        bytes.truncate(read);
        Ok((read as u64, Some(bytes)))
    }

    fn write(&mut self, text: &[u8]) -> Reply {
        let (file, rest) = hex::split(text, b',').ok_or(EINVAL)?;
        let (offset, bytes) = hex::split(rest, b',').ok_or(EINVAL)?;
        let offset = hex::number(offset).ok_or(EINVAL)?;
        let written = self.file(file)?.write_at(bytes, offset).map_err(|error| number(&error))?;
        Ok((written as u64, None))
    }

    fn stat(&mut self, text: &[u8]) -> Reply {
        let metadata = self.file(text)?.metadata().map_err(|error| number(&error))?;
        let bytes = status(&metadata);
        Ok((bytes.len() as u64, Some(bytes)))
    }

    fn unlink(&mut self, text: &[u8]) -> Reply {
        fs::remove_file(self.path(text)?).map_err(|error| number(&error))?;
        Ok((0, None))
    }

    fn read_link(&mut self, text: &[u8]) -> Reply {
        let target = fs::read_link(self.path(text)?).map_err(|error| number(&error))?;
        let bytes = target.into_os_string().into_vec();
        Ok((bytes.len() as u64, Some(bytes)))
    }
}

/// The protocol's `struct stat` (GDB manual, "struct stat"): numbers with their highest byte first.
fn status(metadata: &Metadata) -> Vec<u8> {
    let words = |values: &[u64]| -> Vec<u8> { values.iter().flat_map(|&value| (value as u32).to_be_bytes()).collect() };
    let longs = |values: &[u64]| -> Vec<u8> { values.iter().flat_map(|value| value.to_be_bytes()).collect() };
    let first = [metadata.dev(), metadata.ino(), metadata.mode().into(), metadata.nlink()];
    let second = [metadata.uid().into(), metadata.gid().into(), metadata.rdev()];
    let sizes = [metadata.size(), metadata.blksize(), metadata.blocks()];
    let times = [metadata.atime() as u64, metadata.mtime() as u64, metadata.ctime() as u64];
    [words(&first), words(&second), longs(&sizes), words(&times)].concat()
}
