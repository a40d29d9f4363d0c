//! Starts a program or takes hold of a running one.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use ubp::{Error, Mechanism, Options, Pid, Report, Session, Tid};

use super::attach::{self, attach_failure, why_not_spawned};
use super::plan::Wanted;
use super::plant::Planter;
use super::{Control, Watch, control, interrupted, proc, trace_failure};
use crate::args::Target;
use crate::code::Mode;
use crate::cpu;
use crate::failure::{CANNOT_RUN, Failure, NOT_FOUND, Result};
use crate::files::{Source, open};
use crate::heritage::Heritage;
use crate::location::Location;
use crate::native;
use crate::output::{shown, tell};
use crate::process::Space;
use crate::symbols::{Image, ImageError};

/// Brings the program to the point where all breakpoints that can stand do.
///
/// # Errors
/// With the exit status that says why.
pub(crate) fn start(target: &Target, report: Report, control: Control, heritage: Heritage) -> Result<Watch> {
    let locations = target.locations.iter().map(|text| Location::parse(text)).collect::<Result<Vec<_>, _>>();
    let locations = locations.map_err(Failure::usage)?;
    if locations.is_empty() && !target.every_instruction {
        return Err(Failure::usage("nothing to look for: give -b LOCATION or --every-instruction"));
    }
    let mut options = Options::default();
    options.follow_forks = !target.no_follow;
    options.signals = false;
    options.threads = false;
    let session = Session::open(target.backend.into(), options).map_err(open_failure)?;
    let planter = Planter::new(Wanted::new(locations, target.every_instruction, mode_of), report);
    let (spaces, first, spawned) = (HashMap::new(), Pid(0), target.pid.is_none());
    let (interrupted, called_off) = (false, false);
    let mut watch = Watch { session, planter, spaces, first, end: None, spawned, interrupted, called_off, control };
    let Some(pid) = target.pid.map(Pid) else {
        watch.spawn(&target.program, heritage)?;
        return Ok(watch);
    };
    watch.attach(pid)?;
    watch.planter.tell_waiting();
    Ok(watch)
}

fn mode_of(image: &Image) -> Mode {
    image.arch().mode(cpu::vendor(None))
}

impl Watch {
    fn spawn(&mut self, program: &[OsString], heritage: Heritage) -> Result<()> {
        let command = command(program, heritage)?;
        let name = command.get_program().to_owned();
        let pid = self.session.spawn(command).map_err(|error| spawn_failure(&name, error))?;
        self.first = pid;
        let mut space = Space::new(pid);
        let planted = self.planter.update(&mut self.session, &mut space, None);
        let planted = planted.and_then(|()| self.planter.watch_entry(&mut self.session, &mut space));
        if let Err(failure) = planted.map_err(trace_failure).and_then(|()| self.refuse_hopeless(&space)) {
            // Nothing of it has run.
            control::send(pid, nix::libc::SIGKILL as u8);
            let _ = self.session.resume(pid.leader());
            while let Ok(Some(_)) = self.session.wait() {}
            return Err(failure);
        }
        self.spaces.insert(pid, space);
        self.session.resume(pid.leader()).map_err(trace_failure)
    }

    /// A program without a dynamic loader gets no code later: what it lacks now will not come.
    fn refuse_hopeless(&self, space: &Space) -> Result<()> {
        let wanted = &self.planter.wanted;
        let loader = self.session.process(space.pid).and_then(|process| process.auxv().base());
        let has_loader = loader.is_some() || space.modules.iter().any(|module| module.image.is_dynamic());
        let is_loader = self.planter.is_loader(&self.session, space);
        let is_static = !has_loader && !is_loader && !space.modules.is_empty();
        let missing = wanted.missing().count();
        if is_static && missing > 0 && missing == wanted.locations.len() {
            let mut missing = self.planter.missing();
            let last = missing.pop().unwrap_or_default();
            missing.iter().for_each(|what| tell(format_args!("{what} (statically linked)")));
            return Err(Failure::own(format!("{last} (statically linked)")));
        }
        Ok(())
    }

    fn attach(&mut self, pid: Pid) -> Result<()> {
        attach::check(pid.0)?;
        self.session.attach(pid).map_err(attach_failure)?;
        self.first = pid;
        let mut running = Running { pid, held: None, control: &mut self.control, called_off: false };
        if self.session.mechanism() == Mechanism::Ptrace {
            // Whoever plants by ptrace stops threads anyway.
            running.held(&mut self.session).map_err(attach_failure)?;
        }
        let mut space = Space::new(pid);
        let updated = match running.called_off {
            false => self.planter.update(&mut self.session, &mut space, Some(&mut running)),
            true => Ok(()),
        };
        self.called_off = running.called_off;
        let held = running.held;
        self.spaces.insert(pid, space);
        updated.map_err(attach_failure)?;
        held.map_or(Ok(()), |tid| self.session.resume(tid)).map_err(trace_failure)
    }
}

/// A process that ran before ntrace came.
pub(super) struct Running<'a> {
    pid: Pid,
    held: Option<Tid>,
    control: &'a mut Control,
    /// The front told to stop.
    called_off: bool,
}

impl Running<'_> {
    /// A held thread of it, for which it is stopped at the first time. Its other threads follow as events. `None`: the front told to
    /// stop meanwhile, which ends the wait for a thread that nothing else brings out of the kernel.
    pub(super) fn held(&mut self, session: &mut Session) -> ubp::Result<Option<Tid>> {
        if self.held.is_some() || self.called_off {
            return Ok(self.held);
        }
        session.interrupt(self.pid)?;
        loop {
            while let Some(event) = session.poll()? {
                if let Some(tid) = interrupted(&event) {
                    self.held = Some(tid);
                    return Ok(self.held);
                }
                if event.is_held() {
                    session.resume(event.tid)?;
                }
            }
            if session.process(self.pid).is_none() {
                return Err(Error::NoSuchProcess(self.pid));
            }
            // A failure of the pipe is the front's end.
            if !matches!(self.control.wait(session, None), Ok(None)) {
                self.called_off = true;
                return Ok(None);
            }
        }
    }
}

/// The program and its arguments, to be started as if by the shell that started ntrace.
///
/// # Errors
/// Where it is known that it cannot be traced.
pub(crate) fn command(program: &[OsString], heritage: Heritage) -> Result<Command> {
    let Some((name, arguments)) = program.split_first() else { return Err(Failure::usage("no program is named")) };
    proc::check()?;
    if let Some(path) = which(name) {
        check(&path)?;
    }
    let mut command = Command::new(name);
    command.args(arguments);
    heritage.leave_to(&mut command);
    Ok(command)
}

/// The file that a program's name means, as execvp(3) finds it.
fn which(name: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 || name.to_string_lossy().contains('/') {
        return Some(path.to_path_buf());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Refuses what cannot be traced before it is started; what is only odd is left to the kernel.
fn check(path: &Path) -> Result<()> {
    let fail = |what: String| Err(Failure::new(CANNOT_RUN, format!("{}: {what}", shown(path))));
    match Image::open(path) {
        Err(error @ ImageError::Foreign(_)) => fail(error.to_string()),
        Ok(image) if !native::runs(image.arch()) => {
            fail(format!("a file for {}, which does not run here", image.arch().name()))
        }
        Err(ImageError::NotElf) if is_binary(path) => fail("not an ELF file".into()),
        _ => Ok(()),
    }
}

/// Whether a file is neither a script nor text.
fn is_binary(path: &Path) -> bool {
    let source = open(path).map(|opened| Source::file(&opened));
    let start = source.ok().and_then(|source| source.look(0, source.size().min(256)));
    start.is_some_and(|start| start.contains(&0) && !start.starts_with(b"#!"))
}

fn spawn_failure(name: &OsStr, error: Error) -> Failure {
    let name_shown = shown(name);
    match error {
        Error::Spawn(source) => start_failure(name, &source),
        Error::Architecture { .. } => Failure::new(CANNOT_RUN, format!("{name_shown}: {error}")),
        Error::AlreadyTraced { .. } | Error::Permission(_) => not_traced(name),
        Error::NoSuchProcess(_) | Error::NoSuchThread(_) => {
            start_failure(name, &io::Error::from_raw_os_error(nix::libc::ESRCH))
        }
        error => Failure::own(format!("{name_shown}: {error}")),
    }
}

/// That the kernel does not let ntrace trace a program that it starts.
pub(crate) fn not_traced(name: &OsStr) -> Failure {
    Failure::new(CANNOT_RUN, format!("{}: {}", shown(name), why_not_spawned()))
}

/// Why a program could not be started.
pub(crate) fn start_failure(name: &OsStr, source: &io::Error) -> Failure {
    let path = which(name);
    let broken = path.as_deref().and_then(|path| match Image::open(path) {
        Err(error @ (ImageError::Corrupt(_) | ImageError::NotElf)) if !path.is_dir() => Some(error.to_string()),
        _ => None,
    });
    let name = shown(name);
    let cannot = |why: String| Failure::new(CANNOT_RUN, format!("{name}: {why}"));
    match source.raw_os_error() {
        Some(nix::libc::ENOENT) if path.as_deref().is_some_and(Path::exists) => {
            cannot("its interpreter or dynamic loader does not exist".into())
        }
        Some(nix::libc::ENOENT) => Failure::new(NOT_FOUND, format!("{name}: no such program")),
        Some(nix::libc::EACCES) if path.as_deref().is_some_and(Path::is_dir) => cannot("a directory".into()),
        Some(nix::libc::EACCES) => cannot(source.to_string()),
        // The kernel kills what it cannot map once the old program is gone.
        Some(nix::libc::ESRCH) => cannot(broken.unwrap_or_else(|| "killed by the kernel while it was started".into())),
        _ => cannot(broken.unwrap_or_else(|| source.to_string())),
    }
}

/// Why there is no session.
fn open_failure(error: Error) -> Failure {
    match error {
        Error::File { path, source } if source.kind() == io::ErrorKind::NotFound => {
            Failure::own(format!("{}: the kernel module is not loaded; --backend ptrace needs none", shown(path)))
        }
        error => trace_failure(error),
    }
}
