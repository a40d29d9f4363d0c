//! The kernel's uprobes, counting, through perf_event_open(2): to stand beside breakpoints.

use std::ffi::CString;
use std::fs::{File, read_to_string};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

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

/// An event that counts whenever a process, 0 for this one, executes the instruction at an offset in a file. It ends with the
/// descriptor.
///
/// # Errors
/// The kernel has no uprobes, or refuses this one.
pub fn uprobe(process: u32, file: &Path, offset: u64) -> Result<OwnedFd> {
    let kind = read_to_string("/sys/bus/event_source/devices/uprobe/type")?;
    let kind = kind.trim().parse().map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
    let path = CString::new(file.as_os_str().as_bytes())?;
    let size = size_of::<Attributes>() as u32;
    let attributes = Attributes { kind, size, config1: path.as_ptr() as u64, config2: offset, ..Default::default() };
    static FIRST: OnceLock<Option<OwnedFd>> = OnceLock::new();
    FIRST.get_or_init(|| open(&Attributes { kind: SOFTWARE, size, config: DUMMY, ..Default::default() }, 0).ok());
    open(&attributes, process)
}

/// An event of no kind. The kernel changes code of its scheduler at the first event of a thread and at the last one. QEMU before 8.1 may
/// go on with the old code then, and the kernel in it ends at a breakpoint instruction of its own. So one event stays open.
const SOFTWARE: u32 = 1;
const DUMMY: u64 = 9;

fn open(attributes: &Attributes, process: u32) -> Result<OwnedFd> {
    // SAFETY: the attributes are as long as they say, and what they point to outlives the call; the kernel only reads it.
    let event = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const *attributes, process, -1, -1, 0) };
    if event < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the kernel has just given this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(event as i32) })
}

/// How often it was come by.
///
/// # Panics
/// Where it cannot be read.
pub fn hits(event: &OwnedFd) -> u64 {
    let mut file = File::from(event.try_clone().expect("a descriptor"));
    let mut count = [0; 8];
    file.read_exact(&mut count).expect("an event has a count");
    u64::from_ne_bytes(count)
}
