//! Starts a program, or attaches to a process, and sets its first breakpoints.

use std::ffi::OsString;
use std::io;

use nix::libc;
use ubp::{Error, Mechanism, Options, Pid, Session};
use ubp_symbols::Image;
use ubp_symbols::code::{self, Mode};

use super::follower::Follower;
use super::inserter::{Inserter, Kind};
use super::plan::Wanted;
use super::running::Running;
use crate::args::Target;
use crate::failure::{Failure, Result};
use crate::heritage::Heritage;
use crate::launch::{attach_failure, check_process, command, spawn_failure};
use crate::location::Location;
use crate::output::{shown, tell};
use crate::process::Space;
use crate::worker::{self, Control};

/// Starts the program or attaches to the process, and sets every breakpoint that can be set before the program continues.
///
/// # Errors
/// The failure has the exit status that states the reason.
pub(crate) fn start(target: &Target, kind: Kind, control: Control, heritage: Heritage) -> Result<Follower> {
    let locations = target.locations.iter().map(|text| Location::parse(text)).collect::<Result<Vec<_>, _>>();
    let locations = locations.map_err(Failure::usage)?;
    if locations.is_empty() && !target.every_instruction {
        return Err(Failure::usage("no location is given: use -b LOCATION or --every-instruction"));
    }
    let mut options = Options::default();
    options.follow_forks = !target.no_follow;
    options.signals = false;
    options.threads = false;
    let session = Session::open(target.backend.into(), options).map_err(open_failure)?;
    let inserter = Inserter::new(Wanted::new(locations, target.every_instruction, mode_of), kind);
    let mut follower = Follower::new(session, inserter, control, target.pid.is_none());
    match target.pid {
        Some(pid) => {
            attach(&mut follower, Pid(pid))?;
            follower.inserter.tell_waiting();
        }
        None => spawn(&mut follower, &target.program, heritage)?,
    }
    Ok(follower)
}

fn mode_of(image: &Image) -> Mode {
    image.arch().mode(code::vendor())
}

fn spawn(follower: &mut Follower, program: &[OsString], heritage: Heritage) -> Result<()> {
    let command = command(program, heritage)?;
    let name = command.get_program().to_owned();
    let pid = follower.session.spawn(command).map_err(|error| spawn_failure(&name, error))?;
    follower.first = pid;
    let mut space = Space::new(pid);
    let session = &mut follower.session;
    let inserted = follower.inserter.update(session, &mut space, None);
    let inserted = inserted.and_then(|()| follower.inserter.break_at_entry(session, &mut space));
    let checked = inserted.map_err(Failure::trace).and_then(|()| refuse_hopeless(follower, &space));
    if let Err(failure) = checked {
        // The program has not run any instruction yet.
        worker::send(pid, libc::SIGKILL as u8);
        let _ = follower.session.resume(pid.leader());
        while let Ok(Some(_)) = follower.session.wait() {}
        return Err(failure);
    }
    follower.spaces.insert(pid, space);
    follower.session.resume(pid.leader()).map_err(Failure::trace)
}

/// Fails if no location can ever be found: a program without a dynamic loader loads no code later.
fn refuse_hopeless(follower: &Follower, space: &Space) -> Result<()> {
    let Follower { session, inserter, .. } = follower;
    let loader = session.process(space.pid).and_then(|process| process.auxv().base());
    let has_loader = loader.is_some() || space.modules.iter().any(|module| module.image.is_dynamic());
    let is_static = !has_loader && !inserter.is_loader(session, space) && !space.modules.is_empty();
    let missing = inserter.wanted.missing().count();
    if is_static && missing > 0 && missing == inserter.wanted.locations.len() {
        let mut missing = inserter.missing();
        let last = missing.pop().unwrap_or_default();
        missing.iter().for_each(|what| tell(format_args!("{what} (statically linked)")));
        return Err(Failure::own(format!("{last} (statically linked)")));
    }
    Ok(())
}

fn attach(follower: &mut Follower, pid: Pid) -> Result<()> {
    check_process(pid.0)?;
    let Follower { session, inserter, control, .. } = follower;
    session.attach(pid).map_err(attach_failure)?;
    follower.first = pid;
    let mut running = Running::new(pid, control);
    if session.mechanism() == Mechanism::Ptrace {
        // ptrace stops threads to insert breakpoints anyway.
        running.hold(session).map_err(attach_failure)?;
    }
    let mut space = Space::new(pid);
    let updated = match running.is_cancelled() {
        false => inserter.update(session, &mut space, Some(&mut running)),
        true => Ok(()),
    };
    let (held, cancelled) = (running.held(), running.is_cancelled());
    follower.cancelled = cancelled;
    follower.spaces.insert(pid, space);
    updated.map_err(attach_failure)?;
    held.map_or(Ok(()), |tid| follower.session.resume(tid)).map_err(Failure::trace)
}

/// Explains why no session could be opened.
fn open_failure(error: Error) -> Failure {
    match error {
        Error::File { path, source } if source.kind() == io::ErrorKind::NotFound => {
            Failure::own(format!("{}: the kernel module is not loaded; --backend ptrace needs none", shown(path)))
        }
        error => Failure::trace(error),
    }
}
