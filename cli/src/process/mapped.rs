//! The very file that a mapping maps, which need not be the one at its path by now.

use std::ffi::OsString;
use std::fs::read_link;
use std::path::{Path, PathBuf};

use ubp::{Mapping, Pid};

use crate::files::{OpenError, Opened, Root, open};

/// A file that may be the mapped one.
pub(super) struct Candidate {
    pub(super) opened: Opened,
    /// It is the mapped one. Else its path says so and nothing says otherwise: the code in memory has to decide.
    pub(super) certain: bool,
    /// Where the files are that belong to it.
    pub(super) root: Root,
    /// The path below that root.
    pub(super) path: PathBuf,
}

/// Looks for the file of a mapping: by the links of procfs, which lead to it whatever became of its path, then by the path as the
/// process sees it and as this one does. A certain one comes alone.
///
/// # Errors
/// Why there is none.
pub(super) fn find(pid: Pid, map: &Mapping) -> Result<Vec<Candidate>, OpenError> {
    let Some(path) = map.path.as_deref() else { return Ok(Vec::new()) };
    let own = Root::own()?;
    let root = Root::of(pid).unwrap_or_else(|_| own.clone());
    let below = root.path_below(path);
    // Only who has CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE may open what is in map_files (proc_pid_map_files(5)).
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
        // The name may end so itself.
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

/// The path of a file without name, as the kernel writes it.
fn deleted(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(" (deleted)");
    name.into()
}

fn is_missing(error: &OpenError) -> bool {
    matches!(error, OpenError::Io(error) if matches!(error.raw_os_error(), Some(nix::libc::ENOENT | nix::libc::ENOTDIR)))
}
