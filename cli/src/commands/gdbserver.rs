//! `ntrace gdbserver`.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use gdbserver::{Error, Server};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ubp::Pid;

use crate::args::GdbserverArgs;
use crate::failure::{Failure, Result};
use crate::heritage::Heritage;
use crate::launch::{attach_failure, check_process, command, spawn_failure};
use crate::output::{shown, tell};
use crate::worker::{Control, End};

/// Where gdb connects.
enum Door {
    /// The standard input and output.
    Standard,
    Tcp(TcpListener),
    /// A socket, which is removed at the end.
    Socket(UnixListener, PathBuf),
}

/// Serves until gdb leaves, or with `--multi` until ntrace is ended.
pub(crate) fn run(args: &GdbserverArgs, control: &Control, heritage: Heritage) -> Result<End> {
    let door = Door::open(&args.address)?;
    let mut server = server(args, Some(heritage), &door)?;
    loop {
        door.announce();
        let Some((input, output)) = door.wait(control.as_fd())? else { return Ok(End::Detached) };
        match server.serve_unless(input, output, control.as_fd()) {
            Ok(()) => {}
            Err(error) if args.multi => tell(failure(error)),
            Err(error) => return Err(failure(error)),
        }
        if !args.multi || matches!(door, Door::Standard) || is_ready(control.as_fd()) {
            return Ok(End::Detached);
        }
        server = Server::new().map_err(failure)?.extended();
    }
}

/// The server, with the program of the command line.
fn server(args: &GdbserverArgs, heritage: Option<Heritage>, door: &Door) -> Result<Server> {
    let mut server = Server::new().map_err(failure)?;
    if args.multi {
        server = server.extended();
    }
    if matches!(door, Door::Standard) {
        server = server.on_standard_streams();
    }
    if let Some(pid) = args.pid {
        check_process(pid)?;
        server.attach(Pid(pid)).map_err(|error| match error {
            Error::Session(error) => attach_failure(error),
            other => failure(other),
        })?;
    } else if let (Some(heritage), Some(name)) = (heritage, args.program.first()) {
        server.spawn(command(&args.program, heritage)?).map_err(|error| match error {
            Error::Session(error) => spawn_failure(name, error),
            other => failure(other),
        })?;
    }
    Ok(server)
}

fn failure(error: Error) -> Failure {
    Failure::own(error.to_string())
}

/// Whether a descriptor is readable, or closed at its other end.
fn is_ready(descriptor: BorrowedFd<'_>) -> bool {
    let mut waited = [PollFd::new(descriptor, PollFlags::POLLIN)];
    poll(&mut waited, PollTimeout::ZERO).is_ok_and(|found| found > 0)
}

impl Door {
    fn open(address: &str) -> Result<Door> {
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
        let usage =
            || Failure::usage(format!("{address}: an address is [HOST]:PORT, the path of a socket with a /, or -"));
        let (host, port) = address.rsplit_once(':').ok_or_else(usage)?;
        let port: u16 = port.parse().map_err(|_| usage())?;
        let host = if host.is_empty() { "localhost" } else { host.trim_matches(['[', ']']) };
        Ok(Door::Tcp(TcpListener::bind((host, port)).map_err(fail)?))
    }

    fn announce(&self) {
        match self {
            Door::Standard => {}
            Door::Tcp(listener) => {
                if let Ok(address) = listener.local_addr() {
                    tell(format_args!("waiting for gdb at {address}"));
                }
            }
            Door::Socket(_, path) => tell(format_args!("waiting for gdb at {}", shown(path))),
        }
    }

    /// Waits for a connection; `None`: `stop` is ready.
    #[expect(clippy::disallowed_methods, reason = "the standard output is the connection, and shows no text")]
    fn wait(&self, stop: BorrowedFd<'_>) -> Result<Option<(OwnedFd, OwnedFd)>> {
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
