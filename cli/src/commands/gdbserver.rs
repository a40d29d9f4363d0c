//! `ntrace gdbserver`.

use gdbserver::{Error, Server};
use ubp::Pid;

use crate::args::GdbserverArgs;
use crate::door::{Door, is_ready};
use crate::failure::{Failure, Result};
use crate::heritage::Heritage;
use crate::launch::{attach_failure, check_process, command, spawn_failure};
use crate::output::tell;
use crate::worker::{Control, End};

/// Serves until gdb leaves, or with `--multi` until ntrace is ended.
pub(crate) fn run(args: &GdbserverArgs, control: &Control, heritage: Heritage) -> Result<End> {
    let door = Door::open(&args.address)?;
    let mut server = server(args, Some(heritage), &door)?;
    loop {
        door.announce("gdb");
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
