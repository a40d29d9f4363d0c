//! Which tests fail for a mutant.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::tree::Program;

/// A test counts as endless when it uses this many times its processor time without a mutant, and a little more.
const LONGER: u32 = 5;
const MORE: Duration = Duration::from_secs(10);
/// A test may take this many times its processor time in all, since other work on the machine delays it.
const IDLE: u32 = 20;
/// The most bytes of address space of a test: a mutant may ask for memory without end.
const ADDRESSES: u64 = 16 << 30;

/// A test program, and how long it takes without a mutant.
struct Test<'a> {
    program: &'a Program,
    time: Duration,
}

/// Runs the programs for each mutant, the quickest first, until one fails. Returns the numbers of the mutants for which none fails.
pub(super) fn living(programs: &[Program], numbers: &[usize]) -> Result<Vec<usize>> {
    let mut tests = Vec::new();
    for program in programs {
        let start = Instant::now();
        let status = run(program, 0, Duration::from_secs(3600))?;
        if !status.success() {
            bail!("{} fails without a mutant: {status}", program.path.display());
        }
        tests.push(Test { program, time: start.elapsed() });
    }
    tests.sort_by_key(|test| test.time);
    let (living, done) = (Mutex::new(Vec::new()), Mutex::new(0));
    let rest = Mutex::new(numbers.iter());
    let work = || -> Result<()> {
        while let Some(number) = next(&rest) {
            if !is_caught(&tests, *number)? {
                lock(&living).push(*number);
            }
            let mut done = lock(&done);
            *done += 1;
            if *done % 100 == 0 {
                eprintln!("mutants: {done} of {}, {} live", numbers.len(), lock(&living).len());
            }
        }
        Ok(())
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| bail!("a worker panicked")))
    })?;
    let mut living = living.into_inner().unwrap_or_else(|error| error.into_inner());
    living.sort_unstable();
    Ok(living)
}

fn next<'a>(rest: &Mutex<impl Iterator<Item = &'a usize>>) -> Option<&'a usize> {
    lock(rest).next()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|error| error.into_inner())
}

fn is_caught(tests: &[Test<'_>], number: usize) -> Result<bool> {
    for test in tests {
        if !run(test.program, number, test.time * LONGER + MORE)?.success() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Runs a program once. A run that does not end is killed and counts as a failure.
fn run(program: &Program, number: usize, limit: Duration) -> Result<ExitStatus> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=1", &(limit * IDLE).as_secs().to_string()]);
    // These limits are soft, because tests set limits of their own.
    command.args(["prlimit", &format!("--as={ADDRESSES}:"), &format!("--cpu={}:", limit.as_secs()), "--core=0:"]);
    command.arg(&program.path);
    command.current_dir(&program.folder).env("NTRACE_MUTANT", number.to_string());
    command.env("CARGO_MANIFEST_DIR", &program.folder).env("RUST_TEST_THREADS", "1").env("RUST_BACKTRACE", "0");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().with_context(|| format!("cannot start {}", shown(&program.path)))
}

fn shown(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
