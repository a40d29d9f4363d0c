//! A process that does a piece of work on each request.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};

use crate::in_turn;

/// A copy of this process that waits for numbers, and answers each with what its work makes of it. It ends with this.
pub struct Victim {
    process: libc::pid_t,
    to: Option<File>,
    from: File,
}

fn pipe() -> (File, File) {
    let mut ends = [0; 2];
    // SAFETY: there is room for two descriptors.
    assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0, "a pipe");
    // SAFETY: both were opened a line before and are nobody else's.
    let file = |end| unsafe { File::from_raw_fd(end) };
    (file(ends[0]), file(ends[1]))
}

/// Closes all but these: what else this process has open is not the copy's to hold.
fn keep(files: &[&File]) {
    let mut kept: Vec<u32> = files.iter().map(|file| file.as_raw_fd() as u32).collect();
    kept.sort_unstable();
    let mut first = 3;
    for end in kept.into_iter().chain([u32::MAX]) {
        if end > first {
            // SAFETY: none of these is used any more.
            unsafe { libc::syscall(libc::SYS_close_range, first, end - 1, 0) };
        }
        first = end.saturating_add(1);
    }
}

impl Victim {
    /// Forks. The work is done by the copy's only thread, and must not need another one of this process.
    ///
    /// # Panics
    /// Where there is no memory for it.
    pub fn start(work: fn(u64) -> u64) -> Victim {
        in_turn(|| {
            let mut victim = Victim::fork(work);
            // It has closed what is not its own.
            victim.from.read_exact(&mut [0]).expect("it lives");
            victim
        })
    }

    fn fork(work: fn(u64) -> u64) -> Victim {
        let (mut orders, to) = pipe();
        let (from, mut answers) = pipe();
        // SAFETY: the copy uses nothing that another thread may hold.
        let process = unsafe { libc::fork() };
        assert_ne!(process, -1, "a process");
        if process == 0 {
            keep(&[&orders, &answers]);
            std::mem::forget((to, from));
            let mut number = [0; 8];
            let _ = answers.write_all(&[0]);
            while orders.read_exact(&mut number).is_ok() {
                let answer = work(u64::from_ne_bytes(number));
                if answers.write_all(&answer.to_ne_bytes()).is_err() {
                    break;
                }
            }
            // SAFETY: _exit ends the copy and runs no code of this process in it.
            unsafe { libc::_exit(0) };
        }
        Victim { process, to: Some(to), from }
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.process as u32
    }

    /// Tells it to work.
    ///
    /// # Panics
    /// Where it has ended.
    pub fn order(&mut self, number: u64) {
        self.to.as_mut().expect("it lives").write_all(&number.to_ne_bytes()).expect("it lives");
    }

    /// What its work came to.
    ///
    /// # Panics
    /// Where it has ended.
    pub fn answer(&mut self) -> u64 {
        let mut answer = [0; 8];
        if self.from.read_exact(&mut answer).is_err() {
            panic!("it has ended with status {:#x}", self.wait());
        }
        u64::from_ne_bytes(answer)
    }

    /// Whether its work is done, or has ended it: [`Victim::answer`] does not wait then.
    pub fn is_done(&self) -> bool {
        let mut asked = libc::pollfd { fd: self.from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one is there.
        unsafe { libc::poll(&mut asked, 1, 0) == 1 }
    }

    /// What its work came to, or its status as `wait` gives it if that ended it.
    pub fn outcome(mut self) -> Result<u64, i32> {
        let mut answer = [0; 8];
        match self.from.read_exact(&mut answer) {
            Ok(()) => Ok(u64::from_ne_bytes(answer)),
            Err(_) => Err(self.wait()),
        }
    }

    /// Has it work, and waits.
    ///
    /// # Panics
    /// Where it has ended.
    pub fn ask(&mut self, number: u64) -> u64 {
        self.order(number);
        self.answer()
    }

    /// Lets it end, and returns its status as `wait` gives it.
    pub fn end(mut self) -> i32 {
        drop(self.to.take());
        self.wait()
    }

    fn wait(&mut self) -> i32 {
        let mut status = 0;
        // SAFETY: the status is this function's.
        unsafe { libc::waitpid(std::mem::take(&mut self.process), &mut status, 0) };
        status
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        if self.process != 0 {
            // SAFETY: it is a child that was not waited for.
            unsafe { libc::kill(self.process, libc::SIGKILL) };
            self.wait();
        }
    }
}
