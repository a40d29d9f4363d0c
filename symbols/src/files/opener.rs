//! Opens files that others choose: only regular files on file systems that store bytes, without side effects and without endless waits.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open as open_path, openat2, readlink};
use nix::sys::stat::Mode;
use nix::sys::statfs::fstatfs;

use super::{Identity, patience, pseudo};

/// The number of attempts to look up a path while renames interfere (`EAGAIN`, openat2(2)).
const ATTEMPTS: usize = 16;

/// The reason why a file is not opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// A system call failed.
    Io(io::Error),
    /// The file is a directory, a pipe, a device or a socket.
    NotRegular,
    /// The file is on a file system of this name, which stores no bytes.
    Pseudo(&'static str),
    /// The file system does not answer.
    Slow,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Io(error) => write!(f, "{error}"),
            OpenError::NotRegular => f.write_str("not a regular file"),
            OpenError::Pseudo(name) => write!(f, "a file of {name}, which stores no files"),
            OpenError::Slow => f.write_str("its file system does not answer"),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// The descriptor of a regular file. It is closed without waiting, since some file systems ask a server at that time.
#[derive(Debug)]
pub(super) struct Stored(Option<File>);

impl Stored {
    /// Reads at an offset with one call.
    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.as_ref().map_or(Ok(0), |file| file.read_at(buffer, offset))
    }

    /// Returns the current state of the file.
    pub(super) fn identity(&self) -> io::Result<Identity> {
        let file = self.0.as_ref().ok_or(io::ErrorKind::NotFound)?;
        file.metadata().map(|metadata| Identity::of(&metadata))
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        let file = self.0.take();
        patience::tell(move || drop(file));
    }
}

/// An open regular file.
#[derive(Clone, Debug)]
pub struct Opened {
    pub(super) file: Arc<Stored>,
    /// The state of the file when it was opened.
    pub(crate) identity: Identity,
    /// The path in this process' file tree.
    pub(crate) path: PathBuf,
}

/// The root directory of a process. Symbolic links in paths below it do not leave it.
#[derive(Clone, Debug)]
pub struct Root {
    directory: Arc<OwnedFd>,
    /// The path in this process' file tree; `/` if the directory is not in it.
    path: PathBuf,
}

impl Root {
    /// Returns the root of this process.
    pub fn own() -> Result<Root, OpenError> {
        Root::open_directory("/".into())
    }

    /// Returns the root of a process.
    pub fn of(pid: impl fmt::Display) -> Result<Root, OpenError> {
        Root::open_directory(format!("/proc/{pid}/root").into())
    }

    fn open_directory(path: PathBuf) -> Result<Root, OpenError> {
        let directory = answer(move || {
            let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
            open_path(&path, flags, Mode::empty()).map_err(failed)
        })?;
        let path = link_of(&directory).unwrap_or_else(|| "/".into());
        Ok(Root { directory: Arc::new(directory), path })
    }

    /// Converts a path of this process' file tree into a path below this root.
    pub fn path_below(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.path).map_or_else(|_| path.to_path_buf(), |rest| Path::new("/").join(rest))
    }

    /// Opens a file. Symbolic links in the path do not leave the root.
    pub fn open(&self, path: &Path) -> Result<Opened, OpenError> {
        let (root, path) = (Arc::clone(&self.directory), path.to_path_buf());
        answer(move || {
            let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
            let resolve = ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_MAGICLINKS;
            let how = OpenHow::new().flags(flags).resolve(resolve);
            let mut attempts = 1;
            let found = loop {
                match openat2(&*root, &path, how) {
                    Err(Errno::EAGAIN) if attempts < ATTEMPTS => attempts += 1,
                    other => break other.map_err(failed)?,
                }
            };
            check(found)
        })
    }
}

/// Opens a file by a path of this process. The path may be a link of procfs to a file.
pub fn open(path: &Path) -> Result<Opened, OpenError> {
    let path = path.to_path_buf();
    answer(move || check(open_path(&path, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty()).map_err(failed)?))
}

fn answer<T: Send + 'static>(job: impl FnOnce() -> Result<T, OpenError> + Send + 'static) -> Result<T, OpenError> {
    patience::ask(job).unwrap_or(Err(OpenError::Slow))
}

/// Opens a file that was found but not opened yet (`O_PATH`). Its type is checked first, since opening a device or a pipe may have a side
/// effect or wait.
fn check(found: OwnedFd) -> Result<Opened, OpenError> {
    let found = File::from(found);
    let metadata = found.metadata().map_err(OpenError::Io)?;
    if !metadata.is_file() {
        return Err(OpenError::NotRegular);
    }
    if let Some(name) = pseudo::name(fstatfs(&found).map_err(failed)?.filesystem_type()) {
        return Err(OpenError::Pseudo(name));
    }
    // Without O_NONBLOCK, open waits for a lease that another process holds on the file.
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let file = File::from(open_path(&*own_link(&found), flags, Mode::empty()).map_err(failed)?);
    let identity = Identity::of(&file.metadata().map_err(OpenError::Io)?);
    let path = link_of(&file).unwrap_or_default();
    Ok(Opened { file: Arc::new(Stored(Some(file))), identity, path })
}

/// The error for a failed system call.
fn failed(error: Errno) -> OpenError {
    OpenError::Io(error.into())
}

/// The link of procfs that leads to an open file (proc_pid_fd(5)).
fn own_link(file: &impl AsFd) -> String {
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}

fn link_of(file: &impl AsFd) -> Option<PathBuf> {
    readlink(&*own_link(file)).ok().map(PathBuf::from)
}

/// Whether a name is a single path component that stays in its directory.
pub(crate) fn is_plain(name: &OsStr) -> bool {
    !matches!(name.as_bytes(), b"" | b"." | b"..") && !name.as_bytes().contains(&b'/')
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    /// Creates an empty directory for one test.
    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ntrace-opener-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn a_link_to_a_device_a_pipe_or_a_file_of_procfs_is_refused_and_nothing_waits() {
        let folder = scratch("kinds");
        mkfifo(&folder.join("pipe"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        let root = Root::own().unwrap();
        for (target, expected) in [
            ("/dev/zero", "not a regular file"),
            ("pipe", "not a regular file"),
            ("/", "not a regular file"),
            ("/proc/self/maps", "a file of proc, which stores no files"),
            ("loop", "Too many levels of symbolic links"),
        ] {
            let link = folder.join(if target == "loop" { "loop" } else { "link" });
            let _ = std::fs::remove_file(&link);
            symlink(target, &link).unwrap();
            let errors = [open(&link).unwrap_err().to_string(), root.open(&link).unwrap_err().to_string()];
            assert!(errors.iter().all(|error| error.contains(expected)), "{target}: {errors:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn links_stay_below_the_root() {
        let folder = scratch("root");
        std::fs::create_dir(folder.join("etc")).unwrap();
        std::fs::write(folder.join("etc/passwd"), "inner").unwrap();
        symlink("/etc/passwd", folder.join("absolute")).unwrap();
        symlink("../../../../../../../../etc/passwd", folder.join("relative")).unwrap();
        let root = Root::open_directory(folder.clone()).unwrap();
        for name in ["absolute", "relative"] {
            assert_eq!(root.open(Path::new(name)).unwrap().identity.size, 5, "{name}");
        }
        assert_eq!(root.path_below(&folder.join("etc/passwd")), Path::new("/etc/passwd"));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_magic_link_to_a_stored_file_leads_to_it_where_this_process_names_it() {
        let opened = open(Path::new("/proc/self/exe")).unwrap();
        assert_eq!(opened.path, std::env::current_exe().unwrap());
        assert!(matches!(Root::own().unwrap().open(Path::new("/proc/self/exe")), Err(OpenError::Io(_))));
    }

    #[test]
    fn a_file_written_in_place_has_another_identity() {
        let folder = scratch("identity");
        let path = folder.join("file");
        std::fs::write(&path, "one").unwrap();
        let before = open(&path).unwrap().identity;
        assert_eq!(open(&path).unwrap().identity, before);
        // The clock of a file system ticks a few hundred times per second.
        while open(&path).unwrap().identity == before {
            std::fs::write(&path, "two").unwrap();
        }
        assert!(open(&path).unwrap().identity.is_same_file(&before));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
