//! Waits for file systems with a deadline.
//!
//! A path may lead through a file system with a server (FUSE, NFS, autofs), which may be the traced program itself, or to a file for which
//! the kernel asks another process first (leases, fanotify). The kernel has no call that looks up or reads a file with a deadline.
//! Therefore a separate thread makes each call. If a call does not return, the thread is abandoned.

use std::sync::Mutex;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use nix::sys::signal::SigSet;

/// The longest wait for one call. A local disk under load answers in time.
const LONGEST: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// The thread that makes the calls. There is none before the first call, and after a call that did not return.
static WORKER: Mutex<Option<Sender<Job>>> = Mutex::new(None);

/// Runs `job` in the thread and returns its answer. `None` if the answer is late.
pub(super) fn ask<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    ask_within(LONGEST, job)
}

fn ask_within<T: Send + 'static>(longest: Duration, job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (answer, answered) = mpsc::channel();
    let job: Job = Box::new(move || {
        // The receiver is gone if the answer is late.
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

/// Runs `job` in the thread without waiting for it.
pub(super) fn tell(job: impl FnOnce() + Send + 'static) {
    if let Ok(mut worker) = WORKER.lock() {
        hand_over(&mut worker, Box::new(job));
    }
}

/// Gives a job to the thread. Starts the thread if there is none.
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

/// Starts a thread that blocks all signals. It ends when its sender is dropped.
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
    fn a_call_without_an_answer_ends_at_its_deadline() {
        let (release, released) = mpsc::channel::<()>();
        let stuck = ask_within(Duration::from_millis(10), move || released.recv().is_ok());
        assert_eq!(stuck, None);
        assert_eq!(ask(|| 7), Some(7));
        drop(release);
    }
}
