//! Waiting for a file system no longer than so long.
//!
//! A path may lead through a file system that a process serves (FUSE, NFS, autofs), through one whose server is the traced program itself,
//! or to a file that another process is asked about first (leases, fanotify). The kernel has no call that looks up or reads with a
//! deadline, so a thread of its own makes each call, and is left alone where it does not return.

use std::sync::Mutex;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use nix::sys::signal::SigSet;

/// The longest wait for one call. A local disk under load answers within it.
const LONGEST: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// The thread that makes the calls; none before the first, and after one that did not return.
static WORKER: Mutex<Option<Sender<Job>>> = Mutex::new(None);

/// The answer of `job`; none where it does not come in time.
pub(super) fn ask<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    ask_within(LONGEST, job)
}

fn ask_within<T: Send + 'static>(longest: Duration, job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (answer, answered) = mpsc::channel();
    let job: Job = Box::new(move || {
        // Nobody listens where it came too late.
        let _ = answer.send(job());
    });
    let mut worker = WORKER.lock().ok()?;
    hand_over(&mut worker, job)?;
    let answer = answered.recv_timeout(longest).ok();
    if answer.is_none() {
        *worker = None;
    }
    answer
}

/// Has `job` done at some time, without waiting for it.
pub(super) fn tell(job: impl FnOnce() + Send + 'static) {
    if let Ok(mut worker) = WORKER.lock() {
        hand_over(&mut worker, Box::new(job));
    }
}

/// Gives a job to the thread, and starts it where there is none.
fn hand_over(worker: &mut Option<Sender<Job>>, job: Job) -> Option<()> {
    let job = match worker.as_ref() {
        Some(known) => known.send(job).err().map(|refused| refused.0),
        None => Some(job),
    };
    if let Some(job) = job {
        *worker = start();
        worker.as_ref()?.send(job).ok()?;
    }
    Some(())
}

/// Starts a thread that ends once nobody can ask it any more; signals to the process are no concern of it.
fn start() -> Option<Sender<Job>> {
    let (sender, jobs) = mpsc::channel::<Job>();
    let mask = SigSet::all().thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK).ok()?;
    let started = thread::Builder::new().name("files".into()).spawn(move || jobs.iter().for_each(|job| job()));
    mask.thread_set_mask().ok()?;
    started.ok().map(|_| sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_does_not_come_is_waited_for_no_longer_than_so_long() {
        let (release, released) = mpsc::channel::<()>();
        let stuck = ask_within(Duration::from_millis(10), move || released.recv().is_ok());
        assert_eq!(stuck, None);
        assert_eq!(ask(|| 7), Some(7));
        drop(release);
    }
}
