//! Records a program or process.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount};
use record::{Ended, Options, RecordError, Recorder};
use ubp::Pid;

use super::file::is_dash;
use super::marks::{Marks, Shared};
use crate::args::RecordArgs;
use crate::failure::{Failure, Result};
use crate::heritage::Heritage;
use crate::launch::{check_process, command, not_permitted_to_trace, record_failure, start_failure};
use crate::output::{Live, TICK, shown, tell};
use crate::worker::{Control, End, Notice, send};

/// Runs the command in the worker process.
pub(super) fn run(args: &RecordArgs, control: Control, heritage: Heritage) -> Result<End> {
    if let (record::Threads::These(_), None) = (&args.threads, args.pid) {
        return Err(Failure::usage(
            "--threads accepts thread ids only with -p: a program that is started has no threads yet",
        ));
    }
    let Some(path) = args.output.as_deref() else { return Err(Failure::usage("no output is named")) };
    let out = BufWriter::with_capacity(1 << 16, open(path)?);
    let mut options = Options::default();
    options.registers = args.registers;
    options.follow_forks = args.follow_forks;
    options.threads = args.threads.clone();
    options.limit = args.limit;
    let marks = Rc::new(RefCell::new(Marks::new(args)?));
    let mut recorder = match args.pid {
        Some(pid) => {
            check_process(i32::try_from(pid).unwrap_or(i32::MAX))?;
            Recorder::attach(pid, options, out).map_err(|error| failure(path, error))?
        }
        None => {
            let command = command(&args.program, heritage)?;
            let name = command.get_program().to_owned();
            Recorder::spawn(command, options, out).map_err(|error| match error {
                RecordError::Spawn(source) => start_failure(&name, &source),
                RecordError::Permission(_) | RecordError::AlreadyTraced { .. } => not_permitted_to_trace(&name),
                error => failure(path, error),
            })?
        }
    };
    if !marks.borrow().is_empty() {
        recorder.keep_to(Shared(Rc::clone(&marks)), args.after.is_empty()).map_err(|error| failure(path, error))?;
    }
    let live = if args.quiet { None } else { Live::new(heritage.group()) };
    let begin = Instant::now();
    let deadline = args.duration.and_then(|time| begin.checked_add(time));
    let spawned = args.pid.is_none();
    let mut session = Session { recorder, control, live, begin, deadline, spawned, interrupted: false };
    let end = session.run(path)?;
    marks.borrow().finish(session.recorder.has_begun())?;
    Ok(end)
}

fn open(path: &Path) -> Result<Box<dyn Write>> {
    if is_dash(path) {
        #[expect(clippy::disallowed_methods, reason = "a recording is not text")]
        let stdout = io::stdout();
        if stdout.is_terminal() {
            return Err(Failure::usage(
                "a recording is not text, and is not written to a terminal: use -o FILE, or a pipe",
            ));
        }
        return Ok(Box::new(stdout));
    }
    let file = File::create(path).map_err(|error| Failure::own(format!("{}: {error}", shown(path))))?;
    Ok(Box::new(file))
}

/// A recording in progress.
struct Session {
    recorder: Recorder<BufWriter<Box<dyn Write>>>,
    control: Control,
    live: Option<Live>,
    begin: Instant,
    /// When to stop.
    deadline: Option<Instant>,
    /// Whether ntrace started the program.
    spawned: bool,
    /// Whether the user pressed Ctrl-C once.
    interrupted: bool,
}

impl Session {
    fn run(&mut self, path: &Path) -> Result<End> {
        let done = self.follow();
        self.live = None;
        let finished = self.recorder.finish();
        let pid = self.recorder.pid() as i32;
        let Err(error) = done.and(finished) else {
            return Ok(match self.recorder.ended() {
                Some(Ended::Exited(status)) => End::Exited(status),
                Some(Ended::Killed(signal)) => End::Killed(signal),
                None if self.spawned && self.is_over() => self.control.await_program(Pid(pid)),
                None => End::Detached,
            });
        };
        let failure = failure(path, error);
        if !self.spawned || self.recorder.ended().is_some() {
            return Err(failure);
        }
        tell(format_args!("{failure}; the program continues without being recorded"));
        let _ = nix::sys::wait::waitpid(nix::unistd::Pid::from_raw(pid), None);
        Ok(End::Exited(i32::from(failure.status)))
    }

    /// Whether the recording is over, although the program may run.
    fn is_over(&self) -> bool {
        self.recorder.is_over() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The time until the line is updated, or the recording is over.
    fn pause(&self) -> Duration {
        self.deadline.map_or(TICK, |deadline| TICK.min(deadline.saturating_duration_since(Instant::now())))
    }

    fn follow(&mut self) -> Result<(), RecordError> {
        while !self.is_over() && self.recorder.advance(self.pause(), Some(self.control.as_fd()))? {
            if let Some(live) = self.live.as_mut().filter(|live| live.is_due()) {
                live.show(progress(&self.recorder, self.begin));
            }
            if self.control.take().is_some_and(|notice| self.must_stop(notice)) {
                break;
            }
        }
        Ok(())
    }

    /// Whether a notice asks to stop. Passes other signals to the program.
    fn must_stop(&mut self, notice: Notice) -> bool {
        let running = self.spawned && self.recorder.ended().is_none();
        match notice {
            Notice::Gone => true,
            Notice::Signal { .. } if !running => true,
            // The terminal sent the signal to the program too. A second key press means that ntrace must stop.
            Notice::Signal { from_terminal: true, .. } => std::mem::replace(&mut self.interrupted, true),
            Notice::Signal { number, .. } => {
                send(Pid(self.recorder.pid() as i32), number);
                false
            }
        }
    }
}

/// The progress in words.
fn progress(recorder: &Recorder<impl Write>, begin: Instant) -> String {
    let steps = recorder.steps();
    let rate = steps as f64 / begin.elapsed().as_secs_f64().max(0.001);
    let (steps, rate) = (HumanCount(steps), HumanCount(rate as u64));
    let (bytes, threads) = (HumanBytes(recorder.bytes()), recorder.threads());
    format!("{steps} instructions ({rate}/s), {bytes}, {threads} threads")
}

fn failure(path: &Path, error: RecordError) -> Failure {
    record_failure(&error).unwrap_or_else(|| match &error {
        RecordError::Output(source) => Failure::own(format!("{}: {source}", shown(path))),
        _ => Failure::own(error.to_string()),
    })
}
