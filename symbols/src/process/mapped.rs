//! Finds the file of a mapping. The path may lead to another file by now.

use std::ffi::OsString;
use std::fs::read_link;
use std::path::{Path, PathBuf};

use ubp::{Mapping, Pid};

use crate::files::{OpenError, Opened, Root, open};

/// A file that may be the mapped file.
pub(super) struct Candidate {
    pub(super) opened: Opened,
    /// Whether it certainly is the mapped file. Otherwise only its path indicates that, and the code in memory must be compared.
    pub(super) certain: bool,
    /// The root below which its debug files are searched.
    pub(super) root: Root,
    /// The path below the root.
    pub(super) path: PathBuf,
}

/// Finds the file of a mapping: by the links of procfs, which lead to it whatever its path is now, then by the path in the root of the
/// process, and by the path in the root of this process. A certain candidate is returned alone.
///
/// # Errors
/// No file can be opened.
pub(super) fn find(pid: Pid, map: &Mapping) -> Result<Vec<Candidate>, OpenError> {
    let Some(path) = map.path.as_deref() else { return Ok(Vec::new()) };
    let own = Root::own()?;
    let root = Root::of(pid).unwrap_or_else(|_| own.clone());
    let below = root.path_below(path);
    // Opening a link in map_files needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE (proc_pid_map_files(5)).
    let link = format!("/proc/{pid}/map_files/{:x}-{:x}", map.start.0, map.end.0);
    match open(Path::new(&link)) {
        Ok(opened) => return Ok(vec![Candidate { opened, certain: true, root, path: below }]),
        Err(error @ (OpenError::NotRegular | OpenError::Pseudo(_) | OpenError::Slow)) => return Err(error),
        Err(OpenError::Io(_)) => {}
    }
    let mut candidates = Vec::new();
    let mut failure = None;
    let mut consider = |opened: Result<Opened, OpenError>, root: &Root, path: &Path| match opened {
        Ok(opened) => {
            let certain = (opened.identity.device, opened.identity.inode) == (map.device, map.inode);
            candidates.push(Candidate { opened, certain, root: root.clone(), path: path.to_path_buf() });
        }
        Err(error) => failure = failure.take().filter(|error| !is_missing(error)).or(Some(error)),
    };
    let program = PathBuf::from(format!("/proc/{pid}/exe"));
    if read_link(&program).is_ok_and(|target| target == path || target == deleted(path)) {
        consider(open(&program), &root, &below);
    }
    let mut names = vec![path.to_path_buf()];
    if map.deleted {
        // The name itself may end with the mark.
        names.push(deleted(path));
    }
    for name in &names {
        let below = root.path_below(name);
        consider(root.open(&below), &root, &below);
        consider(own.open(name), &own, name);
    }
    if let Some(certain) = candidates.iter().position(|candidate| candidate.certain) {
        return Ok(vec![candidates.swap_remove(certain)]);
    }
    match failure {
        Some(error) if candidates.is_empty() && !is_missing(&error) => Err(error),
        _ => Ok(candidates),
    }
}

/// Returns the path of an unlinked file in the form that the kernel writes.
fn deleted(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(" (deleted)");
    name.into()
}

fn is_missing(error: &OpenError) -> bool {
    matches!(error, OpenError::Io(error) if matches!(error.raw_os_error(), Some(nix::libc::ENOENT | nix::libc::ENOTDIR)))
}
