//! Makes a trace of running programs: every instruction is single-stepped by ptrace(2), and the processor asked where it went.

#[cfg(target_arch = "aarch64")]
#[path = "arm64/mod.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86/mod.rs"]
mod arch;
mod detach;
mod error;
mod process;
mod start;
mod step;
mod stop;
mod sys;
mod thread;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, Write};
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::process::Command;
use std::time::{Duration, Instant};

pub use self::error::RecordError;
use self::process::Process;
use self::sys::{Report, Whom};
use self::thread::Thread;
use crate::item::{Event, EventKind, Header};
use crate::options::{Ended, Options, Threads};
use crate::writer::Writer;

/// Whether an answer of the kernel only means that the thread has been killed meanwhile: its end is reported.
macro_rules! alive {
    ($call:literal, $tid:expr, $result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(Default::default()),
            Err(source) => return Err(RecordError::System { call: $call, tid: $tid, source }),
        }
    };
}
use alive;

/// The number of stops between two looks at the clock.
const STOPS: u32 = 64;
/// A killed recorder loses what was recorded in this time.
const FLUSH: Duration = Duration::from_millis(200);
/// The shortest and the longest wait for a thread in a system call.
const WAITS: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(10));

/// Records a program.
///
/// It belongs to the thread that made it, which must have no other children that end meanwhile and whose end it wants to know.
/// When it is dropped, or on [`Recorder::finish`], all threads are let go and run on.
///
/// ```
/// use std::process::{Command, Stdio};
/// use std::time::Duration;
/// use record::{Ended, Item, Options, Recorder, read};
///
/// let mut command = Command::new("/bin/true");
/// command.stdout(Stdio::null());
/// let mut trace = Vec::new();
/// let mut recorder = Recorder::spawn(command, Options::default(), &mut trace)?;
/// let ended = recorder.run()?;
/// drop(recorder);
/// assert_eq!(ended, Some(Ended::Exited(0)));
///
/// let steps = read(&trace)?.filter(|item| matches!(item, Ok(Item::Step(_)))).count();
/// assert!(steps > 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Recorder<W: Write> {
    options: Options,
    writer: Writer<W>,
    threads: BTreeMap<u32, Thread>,
    processes: HashMap<u32, Process>,
    /// The process that was started or attached to.
    first: u32,
    ended: Option<Ended>,
    reports: VecDeque<(u32, Report)>,
    flushed: Instant,
    /// Reports of children that have not been told of by their parents.
    early: HashMap<u32, Report>,
    finished: bool,
    /// ptrace(2) obeys only one thread.
    not_send: PhantomData<*const ()>,
}

impl<W: Write> Recorder<W> {
    /// Starts a program, which stands at its first instruction. It is killed with the recording process.
    ///
    /// # Errors
    /// Where it cannot be started or traced, or the trace not be written.
    pub fn spawn(command: Command, options: Options, out: W) -> Result<Recorder<W>, RecordError> {
        let mut recorder = Recorder::new(options, out)?;
        recorder.start(command)?;
        Ok(recorder)
    }

    /// Takes hold of a running process.
    ///
    /// # Errors
    /// Where there is none, it cannot be traced, or the trace not be written.
    pub fn attach(pid: u32, options: Options, out: W) -> Result<Recorder<W>, RecordError> {
        let mut recorder = Recorder::new(options, out)?;
        recorder.seize(pid)?;
        Ok(recorder)
    }

    fn new(options: Options, out: W) -> Result<Recorder<W>, RecordError> {
        let header = Header { machine: arch::machine(), registers: options.registers };
        Ok(Recorder {
            options,
            writer: Writer::new(out, header).map_err(RecordError::Output)?,
            threads: BTreeMap::new(),
            processes: HashMap::new(),
            first: 0,
            ended: None,
            reports: VecDeque::new(),
            flushed: Instant::now(),
            early: HashMap::new(),
            finished: false,
            not_send: PhantomData,
        })
    }

    /// Instructions recorded so far.
    pub fn steps(&self) -> u64 {
        self.writer.steps()
    }

    /// Bytes of the trace so far.
    pub fn bytes(&self) -> u64 {
        self.writer.bytes()
    }

    /// Threads that are recorded at this moment.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// The process that was started or attached to.
    pub fn pid(&self) -> u32 {
        self.first
    }

    /// How that process ended; `None` where it has not.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Records until no thread is left, and ends the trace. Returns how the program ended.
    ///
    /// # Errors
    /// Where the trace cannot be written or the kernel refuses; the program is let go.
    pub fn run(&mut self) -> Result<Option<Ended>, RecordError> {
        while self.advance(Duration::MAX, None)? {}
        self.finish()?;
        Ok(self.ended)
    }

    /// Records for so long, or until `wake` is readable. Returns whether there is more to record.
    ///
    /// # Errors
    /// Where the trace cannot be written or the kernel refuses. [`Recorder::finish`] then lets the program go.
    pub fn advance(&mut self, time: Duration, wake: Option<BorrowedFd<'_>>) -> Result<bool, RecordError> {
        let begin = Instant::now();
        let wake = wake.map(|wake| wake.as_raw_fd());
        let mut wait = WAITS.0;
        let mut stops = 0;
        while !self.threads.is_empty() {
            let report = self.next_report()?;
            if let Some((tid, report)) = report {
                self.report(tid, report)?;
                wait = WAITS.0;
                stops += 1;
                if stops % STOPS != 0 {
                    continue;
                }
            }
            if self.flushed.elapsed() >= FLUSH {
                self.writer.flush().map_err(RecordError::Output)?;
                self.flushed = Instant::now();
            }
            let pause = if report.is_some() { Duration::ZERO } else { wait };
            let is_woken = sys::poll(wake, pause.min(time.saturating_sub(begin.elapsed())));
            if is_woken || begin.elapsed() >= time {
                break;
            }
            wait = (wait * 2).min(WAITS.1);
        }
        Ok(!self.threads.is_empty())
    }

    /// What the kernel has to report; waits for it where that cannot take long.
    fn next_report(&mut self) -> Result<Option<(u32, Report)>, RecordError> {
        if let Some(report) = self.reports.pop_front() {
            return Ok(Some(report));
        }
        let block = self.threads.values().any(Thread::is_short);
        let mut threads = self.threads.keys();
        let whom = match (threads.next(), threads.next()) {
            (Some(&tid), None) => Whom::One(tid),
            _ => Whom::All,
        };
        let fail = |source| RecordError::System { call: "waitpid", tid: 0, source };
        let is_nobody_left = |error: &io::Error| error.raw_os_error() == Some(libc::ECHILD);
        let first = match sys::wait(whom, block) {
            Err(error) if is_nobody_left(&error) => {
                // Gone without a word: another thread, which is not recorded, ran another program.
                self.threads.clear();
                None
            }
            report => report.map_err(fail)?,
        };
        // The kernel looks at its list from the start each time: all that is there is taken before any of it runs on.
        if first.is_some() && whom == Whom::All {
            loop {
                match sys::wait(whom, false) {
                    Ok(Some(more)) => self.reports.push_back(more),
                    Ok(None) => break,
                    // All have ended at once; what they reported is still to be taken.
                    Err(error) if is_nobody_left(&error) => break,
                    Err(error) => return Err(fail(error)),
                }
            }
        }
        Ok(first)
    }

    fn thread(&mut self, tid: u32) -> Result<&mut Thread, RecordError> {
        self.threads.get_mut(&tid).ok_or(RecordError::NoSuchProcess(tid))
    }

    /// Writes an event.
    fn tell(&mut self, tid: u32, kind: EventKind) -> Result<(), RecordError> {
        let pid = self.threads.get(&tid).map_or(0, |thread| thread.pid);
        self.writer.event(&Event { tid, pid, kind }).map_err(RecordError::Output)
    }
}

impl<W: Write> Drop for Recorder<W> {
    fn drop(&mut self) {
        // Who wants to know calls `finish`.
        let _ = self.finish();
    }
}

impl<W: Write> std::fmt::Debug for Recorder<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("pid", &self.first).field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl From<RecordError> for io::Error {
    fn from(error: RecordError) -> io::Error {
        io::Error::other(error)
    }
}
