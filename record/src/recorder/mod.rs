//! Makes a trace of running programs: ptrace(2) single-steps every instruction, and the registers tell where the processor went.

#[cfg(target_arch = "aarch64")]
#[path = "arm64/mod.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86/mod.rs"]
mod arch;
mod detach;
mod error;
mod keep;
mod part;
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
pub use self::part::Part;
use self::part::Stage;
use self::process::Process;
use self::sys::{Report, Whom};
use self::thread::Thread;
use crate::item::{Event, EventKind, Header};
use crate::options::{Ended, Options, Threads};
use crate::writer::Writer;

/// Unwraps an answer of the kernel, or returns if it means that the thread has been killed meanwhile, since its end is reported.
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
/// The time after which steps are written out. A recorder that is killed loses at most these.
const FLUSH: Duration = Duration::from_millis(200);
/// The shortest and the longest wait for a thread in a system call.
const WAITS: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(10));

/// Records a program.
///
/// It belongs to the thread that made it. That thread must not wait for other children meanwhile, since the recorder takes their reports.
/// When it is dropped, or on [`Recorder::finish`], it detaches from all threads, which run on.
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
    /// The started or attached process.
    first: u32,
    ended: Option<Ended>,
    reports: VecDeque<(u32, Report)>,
    flushed: Instant,
    /// Reports of children whose parents have not reported them yet.
    early: HashMap<u32, Report>,
    finished: bool,
    stage: Stage,
    /// What says where the recording begins and ends.
    part: Option<Box<dyn Part>>,
    /// Keeps the recorder on one thread, the only one that ptrace(2) obeys.
    not_send: PhantomData<*const ()>,
}

impl<W: Write> Recorder<W> {
    /// Starts a program, which stops at its first instruction. The kernel kills it when the recording process is killed.
    ///
    /// # Errors
    /// The program cannot be started or traced, or the trace cannot be written.
    pub fn spawn(command: Command, options: Options, out: W) -> Result<Recorder<W>, RecordError> {
        let mut recorder = Recorder::new(options, out)?;
        recorder.start(command)?;
        Ok(recorder)
    }

    /// Attaches to a running process.
    ///
    /// # Errors
    /// There is no such process, it cannot be traced, or the trace cannot be written.
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
            stage: Stage::Within,
            part: None,
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

    /// The started or attached process.
    pub fn pid(&self) -> u32 {
        self.first
    }

    /// How the started or attached process ended; `None` if it runs.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Records until no thread is left, and ends the trace. Returns how the program ended.
    ///
    /// # Errors
    /// The trace cannot be written, or the kernel refuses. The recorder then detaches from the program.
    pub fn run(&mut self) -> Result<Option<Ended>, RecordError> {
        while self.advance(Duration::MAX, None)? {}
        self.finish()?;
        Ok(self.ended)
    }

    /// Records for `time`, or until `wake` is readable. Returns whether there is more to record.
    ///
    /// # Errors
    /// The trace cannot be written, or the kernel refuses. [`Recorder::finish`] then detaches from the program.
    pub fn advance(&mut self, time: Duration, wake: Option<BorrowedFd<'_>>) -> Result<bool, RecordError> {
        let begin = Instant::now();
        let wake = wake.map(|wake| wake.as_raw_fd());
        let mut wait = WAITS.0;
        let mut stops = 0;
        while !self.threads.is_empty() && !self.is_over() {
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
        Ok(!self.threads.is_empty() && !self.is_over())
    }

    /// The kernel's next reports. Waits for one if it cannot take long.
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
                // The thread is gone without a report: an unrecorded thread executed another program.
                self.threads.clear();
                None
            }
            report => report.map_err(fail)?,
        };
        // waitpid searches the kernel's list from the start: all reports are taken before any thread runs on.
        if first.is_some() && whom == Whom::All {
            loop {
                match sys::wait(whom, false) {
                    Ok(Some(more)) => self.reports.push_back(more),
                    Ok(None) => break,
                    // All threads have ended at once. Their reports come next.
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

    /// Writes an event of a thread that is in the trace.
    fn tell(&mut self, tid: u32, kind: EventKind) -> Result<(), RecordError> {
        let Some(pid) = self.threads.get(&tid).filter(|thread| thread.recorded).map(|thread| thread.pid) else {
            return Ok(());
        };
        self.writer.event(&Event { tid, pid, kind }).map_err(RecordError::Output)
    }
}

impl<W: Write> Drop for Recorder<W> {
    fn drop(&mut self) {
        // Callers who need the error call `finish`.
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
