//! Starts a program, or attaches to a process, and sets its first breakpoints.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::time::Instant;

use nix::libc;
use ubp::{Error, Follow, Mechanism, Patch, Pid, Report, Session, Tid, WhenFull};
use ubp_symbols::Image;
use ubp_symbols::code::{self, Mode};

use super::follower::Follower;
use super::gate::Gate;
use super::inserter::{Inserter, Kind};
use super::observed::Observed;
use super::plan::{Sites, Wanted};
use super::ruling::Ruling;
use super::running::Running;
use super::sieve::Sieve;
use super::summing::Summing;
use super::watches::Watches;
use crate::args::Target;
use crate::args::following::Following;
use crate::debuginfod;
use crate::failure::{CANNOT_RUN, Failure, Result, USAGE};
use crate::heritage::Heritage;
use crate::launch::{
    attach_failure, check_process, command, follow, processes_executing, processes_named, processes_of_container,
    spawn_failure,
};
use crate::location::Location;
use crate::output::{Patience, shown, tell};
use crate::process::Space;
use crate::worker::{self, Control};

/// Starts the program or attaches to the process, and sets every breakpoint that can be set before the program continues.
///
/// # Errors
/// The failure has the exit status that states the reason.
pub(crate) fn start(target: &Target, kind: Kind, control: Control, heritage: Heritage) -> Result<Follower> {
    start_observed(target, kind, &Observed::NONE, control, heritage)
}

/// As [`start`], with events beside hits.
///
/// # Errors
/// As [`start`].
pub(crate) fn start_observed(
    target: &Target,
    kind: Kind,
    observed: &Observed,
    control: Control,
    heritage: Heritage,
) -> Result<Follower> {
    let sites = if target.every_instruction { Sites::Instructions } else { Sites::Locations };
    begin(target, kind, sites, observed, control, heritage)
}

/// As [`start`], with a breakpoint at each basic block, which goes when a thread reaches it.
///
/// # Errors
/// As [`start`].
pub(crate) fn start_blocks(target: &Target, control: Control, heritage: Heritage) -> Result<Follower> {
    let kind = Kind::new(Report::Count, Patch::Trap);
    begin(target, kind, Sites::Blocks, &Observed::NONE, control, heritage)
}

fn begin(
    target: &Target,
    kind: Kind,
    sites: Sites,
    observed: &Observed,
    control: Control,
    heritage: Heritage,
) -> Result<Follower> {
    let locations = target.locations.iter().map(|text| Location::parse(text)).collect::<Result<Vec<_>, _>>();
    let locations = locations.map_err(Failure::usage)?;
    if locations.is_empty() && sites == Sites::Locations && !observed.alone {
        return Err(Failure::usage("no location is given: use -b LOCATION or --every-instruction"));
    }
    let sieve = Sieve::new(&target.filter, kind.results)?;
    let gate = Gate::new(&target.filter, |locations| Wanted::new(locations, Sites::Locations, mode_of))?;
    let follows = following(target)?;
    let asked = if follows.is_empty() { target.backend.into() } else { Mechanism::Kernel };
    let mechanism = observed.mechanism(asked)?;
    let options = observed.options(!target.no_follow);
    let mut session = Session::open(mechanism, options).map_err(|error| open_failure(error, !follows.is_empty()))?;
    let kind = match kind.report {
        // For text and stacks the module holds the thread. Then ntrace reads them itself, in any length.
        Report::Record if session.mechanism() != Mechanism::Ptrace && (kind.text || kind.stack) => {
            Kind { report: Report::Event, ..kind }
        }
        _ => kind,
    };
    let summing = match kind.sums {
        Some(sums) => Summing::begin(&mut session, sums, &target.filter).map_err(Failure::trace)?,
        None => None,
    };
    let mut inserter = Inserter::new(Wanted::new(locations, sites, mode_of), kind, sieve, gate);
    inserter.summing = summing;
    inserter.watches = Watches::new(observed.watches.clone());
    inserter.patience = Patience::new(heritage.group());
    inserter.fetch_by(debuginfod::fetch(heritage.group(), Some(control.notices())));
    let ruling = observed.rules.clone().map(Ruling::new).transpose()?;
    // What executes a program from here on is followed, and what did so before is found.
    for follow in &follows {
        session.follow(follow).map_err(|error| Failure::own(format!("--follow: {error}")))?;
    }
    let pids = processes(target)?;
    let spawns = pids.is_empty() && follows.is_empty();
    let mut follower = Follower::new(session, inserter, control, spawns);
    follower.follows = !follows.is_empty();
    if follower.follows {
        let others = target.follow.iter().filter(|following| !following.children);
        let whom: Vec<String> = others.map(ToString::to_string).collect();
        tell(format_args!("waits for programs that --follow {} names; Ctrl-C ends", whom.join(" --follow ")));
    }
    follower.ruling = ruling;
    follower.takes_late = options.buffer.when_full == WhenFull::Overwrite;
    if spawns {
        spawn(&mut follower, &target.program, heritage)?;
    } else if !pids.is_empty() {
        let by_group = !target.names.is_empty() || !target.executables.is_empty() || !target.containers.is_empty();
        attach(&mut follower, &pids, by_group)?;
        follower.inserter.tell_waiting();
    }
    follower.deadline = target.duration.and_then(|time| Instant::now().checked_add(time));
    Ok(follower)
}

/// The rules of `--follow` for the kernel. `children` is none of them, because it is what ntrace does anyway.
fn following(target: &Target) -> Result<Vec<Follow>> {
    let others: Vec<&Following> = target.follow.iter().filter(|following| !following.children).collect();
    if target.no_follow && others.len() < target.follow.len() {
        return Err(Failure::usage("--follow children and --no-follow contradict each other"));
    }
    let groups =
        [target.pids.is_empty(), target.names.is_empty(), target.executables.is_empty(), target.containers.is_empty()];
    if others.is_empty() && target.program.is_empty() && groups.iter().all(|is_empty| *is_empty) {
        return Err(Failure::usage("--follow children: give the program to run, or -p PID"));
    }
    if !others.is_empty() && !target.program.is_empty() {
        return Err(Failure::usage(
            "--follow traces what others start: start the program elsewhere, or leave --follow out to trace it with its children",
        ));
    }
    if !others.is_empty() && Mechanism::from(target.backend) == Mechanism::Ptrace {
        return Err(Failure::usage(
            "--backend ptrace: ptrace(2) tells of no process that others start; --follow needs the kernel module",
        ));
    }
    others.into_iter().map(follow).collect()
}

/// The processes to attach to, each once.
fn processes(target: &Target) -> Result<Vec<Pid>> {
    let mut pids: BTreeSet<i32> = target.pids.iter().copied().collect();
    for name in &target.names {
        pids.extend(processes_named(name)?);
    }
    for pattern in &target.executables {
        pids.extend(processes_executing(pattern)?);
    }
    for pid in &target.containers {
        pids.extend(processes_of_container(*pid)?);
    }
    Ok(pids.into_iter().map(Pid).collect())
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
    let inserted = inserted.and_then(|()| match &mut follower.ruling {
        Some(ruling) => ruling.adopt(session, &mut space),
        None => Ok(()),
    });
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

/// Fails if no location can ever be found, since a program without a dynamic loader loads no code later, or if the filter makes no sense at
/// any of them.
fn refuse_hopeless(follower: &Follower, space: &Space) -> Result<()> {
    let Follower { session, inserter, .. } = follower;
    let loader = session.process(space.pid).and_then(|process| process.auxv().base());
    let has_loader = loader.is_some() || space.modules.iter().any(|module| module.image.is_dynamic());
    let is_static = !has_loader && !inserter.is_loader(session, space) && !space.modules.is_empty();
    let missing = inserter.wanted.missing().count();
    if let Some(failure) = inserter.sieve.failure(USAGE).filter(|_| missing == 0) {
        return Err(failure);
    }
    if is_static && missing > 0 && missing == inserter.wanted.locations.len() {
        let mut missing = inserter.missing();
        let last = missing.pop().unwrap_or_default();
        missing.iter().for_each(|what| tell(format_args!("{what} (statically linked)")));
        return Err(Failure::own(format!("{last} (statically linked)")));
    }
    Ok(())
}

/// Attaches to processes, and sets the breakpoints when all of them are attached: no hit comes before ntrace can handle it.
///
/// `by_group`: of several processes, one that cannot be traced is left out.
fn attach(follower: &mut Follower, pids: &[Pid], by_group: bool) -> Result<()> {
    let mut attached = Vec::new();
    for &pid in pids {
        // Processes that share memory are attached together.
        if follower.session.process(pid).is_some() {
            continue;
        }
        match attach_to(follower, pid, pids.len() > 1) {
            Ok(held) => attached.push((pid, held)),
            Err(failure) if by_group && pids.len() > 1 => tell(failure),
            Err(failure) => return Err(failure),
        }
    }
    follower.has_met |= !attached.is_empty();
    // The exit status is that of the only process.
    if let [(pid, _)] = attached[..] {
        follower.first = pid;
    }
    if attached.is_empty() {
        return Err(Failure::new(CANNOT_RUN, "none of the processes can be traced"));
    }
    let mut held = Vec::new();
    for (pid, tid) in attached {
        held.extend(insert(follower, pid, tid)?);
    }
    let is_missing = follower.inserter.wanted.missing().next().is_some();
    if let Some(failure) = follower.inserter.sieve.failure(USAGE).filter(|_| !is_missing) {
        return Err(failure);
    }
    held.into_iter().try_for_each(|tid| match follower.session.resume(tid) {
        // The process ended meanwhile.
        Err(Error::NoSuchThread(_) | Error::NotHeld(_)) => Ok(()),
        other => other.map_err(Failure::trace),
    })
}

/// Attaches to a process. Returns the thread that is held, if one is: over ptrace, which stops threads to insert breakpoints anyway, and
/// where there are `several` processes.
fn attach_to(follower: &mut Follower, pid: Pid, several: bool) -> Result<Option<Tid>> {
    check_process(pid.0)?;
    let Follower { session, control, cancelled, .. } = follower;
    session.attach(pid).map_err(attach_failure)?;
    if !several && session.mechanism() != Mechanism::Ptrace {
        return Ok(None);
    }
    let mut running = Running::new(pid, None, control);
    running.hold(session).map_err(attach_failure)?;
    *cancelled |= running.is_cancelled();
    Ok(running.held())
}

/// Sets the breakpoints of a process. Returns the thread that is held, if one is.
fn insert(follower: &mut Follower, pid: Pid, held: Option<Tid>) -> Result<Option<Tid>> {
    let Follower { session, inserter, control, cancelled, ruling, .. } = follower;
    let mut running = Running::new(pid, held, control);
    let mut space = Space::new(pid);
    let updated = match *cancelled {
        false => inserter.update(session, &mut space, Some(&mut running)),
        true => Ok(()),
    };
    let updated = updated.and_then(|()| match ruling {
        Some(ruling) if !*cancelled => ruling.adopt(session, &mut space),
        _ => Ok(()),
    });
    let held = running.held();
    *cancelled |= running.is_cancelled();
    follower.spaces.insert(pid, space);
    updated.map_err(attach_failure)?;
    Ok(held)
}

/// Explains why no session could be opened.
fn open_failure(error: Error, follows: bool) -> Failure {
    match error {
        Error::File { path, source } if source.kind() == io::ErrorKind::NotFound && follows => Failure::own(format!(
            "{}: --follow needs the kernel module, which is not loaded (docs/install.md)",
            shown(path)
        )),
        Error::File { path, source } if source.kind() == io::ErrorKind::NotFound => {
            Failure::own(format!("{}: the kernel module is not loaded; --backend ptrace needs none", shown(path)))
        }
        Error::File { path, source } if source.kind() == io::ErrorKind::PermissionDenied => Failure::own(format!(
            "{}: only root and the device's group may open it: have root run `adduser USER ntrace`, and log in again; --backend ptrace needs no \
             group",
            shown(path)
        )),
        error => Failure::trace(error),
    }
}
