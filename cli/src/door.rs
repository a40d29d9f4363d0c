//! Where a client connects: the standard streams, a port, or a socket.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::failure::{Failure, Result};
use crate::output::{shown, tell};

/// Where a client connects.
pub(crate) enum Door {
    /// The standard input and output.
    Standard,
    Tcp(TcpListener),
    /// A socket, which is removed at the end.
    Socket(UnixListener, PathBuf),
}

/// Listens at a port, with or without a host before the colon: without a host at the loopback interface.
///
/// # Errors
/// The text is no such address, or nobody can listen there.
pub(crate) fn listen(address: &str, usage: &str) -> Result<TcpListener> {
    let usage = || Failure::usage(format!("{}: {usage}", shown(address)));
    let (host, port) = address.rsplit_once(':').ok_or_else(usage)?;
    let port: u16 = port.parse().map_err(|_| usage())?;
    let host = if host.is_empty() { "localhost" } else { host.trim_matches(['[', ']']) };
    TcpListener::bind((host, port))
        .map_err(|error| Failure::own(format!("cannot listen at {}: {error}", shown(address))))
}

/// Whether a descriptor is readable, or closed at its other end.
pub(crate) fn is_ready(descriptor: BorrowedFd<'_>) -> bool {
    let mut waited = [PollFd::new(descriptor, PollFlags::POLLIN)];
    poll(&mut waited, PollTimeout::ZERO).is_ok_and(|found| found > 0)
}

impl Door {
    /// Opens an address: a port with or without a host, the path of a socket, or `-` for the standard streams.
    ///
    /// # Errors
    /// The text is no address, or nobody can listen there.
    pub(crate) fn open(address: &str) -> Result<Door> {
        let fail = |error: io::Error| Failure::own(format!("cannot listen at {}: {error}", shown(Path::new(address))));
        if address == "-" {
            return Ok(Door::Standard);
        }
        if address.contains('/') {
            let path = PathBuf::from(address);
            if fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_socket()) {
                fs::remove_file(&path).map_err(fail)?;
            }
            let listener = UnixListener::bind(&path).map_err(fail)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(fail)?;
            return Ok(Door::Socket(listener, path));
        }
        Ok(Door::Tcp(listen(address, "an address is [HOST]:PORT, the path of a socket with a /, or -")?))
    }

    /// Tells the user where `client` can connect.
    pub(crate) fn announce(&self, client: &str) {
        match self {
            Door::Standard => {}
            Door::Tcp(listener) => {
                if let Ok(address) = listener.local_addr() {
                    tell(format_args!("waiting for {client} at {address}"));
                }
            }
            Door::Socket(_, path) => tell(format_args!("waiting for {client} at {}", shown(path))),
        }
    }

    /// Waits for a connection; `None`: `stop` is ready.
    #[expect(clippy::disallowed_methods, reason = "the standard output is the connection, and shows no text")]
    pub(crate) fn wait(&self, stop: BorrowedFd<'_>) -> Result<Option<(OwnedFd, OwnedFd)>> {
        let fail = |error: io::Error| Failure::own(format!("cannot accept a connection: {error}"));
        let descriptor = match self {
            Door::Standard => {
                let copy = |descriptor: BorrowedFd<'_>| descriptor.try_clone_to_owned().map_err(fail);
                return Ok(Some((copy(io::stdin().as_fd())?, copy(io::stdout().as_fd())?)));
            }
            Door::Tcp(listener) => listener.as_fd(),
            Door::Socket(listener, _) => listener.as_fd(),
        };
        loop {
            let mut waited = [PollFd::new(descriptor, PollFlags::POLLIN), PollFd::new(stop, PollFlags::POLLIN)];
            // An interrupted wait is begun again.
            let _ = poll(&mut waited, PollTimeout::NONE);
            let is_ready = |at: usize| waited.get(at).and_then(PollFd::any).unwrap_or(false);
            if is_ready(1) {
                return Ok(None);
            }
            if is_ready(0) {
                break;
            }
        }
        let connection: OwnedFd = match self {
            Door::Tcp(listener) => {
                let (connection, _) = listener.accept().map_err(fail)?;
                connection.set_nodelay(true).map_err(fail)?;
                connection.into()
            }
            Door::Socket(listener, _) => listener.accept().map_err(fail)?.0.into(),
            Door::Standard => return Ok(None),
        };
        let copy = connection.try_clone().map_err(fail)?;
        Ok(Some((connection, copy)))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Door::Socket(_, path) = self {
            // Whoever removed it before has done this.
            let _ = fs::remove_file(path);
        }
    }
}
