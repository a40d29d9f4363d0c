//! Counts the events of a program in asynchronous code, by tokio.
//!
//! ```console
//! $ cargo run --example tokio -- /bin/true
//! ```

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use ubp::{EventKind, Readiness, Session};

/// A session's descriptor in tokio's reactor.
struct Reactor(AsyncFd<OwnedFd>);

impl Reactor {
    fn of(session: &Session) -> io::Result<Reactor> {
        let descriptor = session.as_fd().try_clone_to_owned()?;
        // SAFETY: the descriptor belongs to the registration, which closes it.
        let registered = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
        Ok(Reactor(registered?))
    }
}

impl Readiness for Reactor {
    async fn readable(&mut self) -> io::Result<()> {
        self.0.readable().await?.clear_ready();
        Ok(())
    }
}

// A session belongs to its thread, so the run-time has one.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let program = words.next().ok_or("usage: tokio PROGRAM ARGUMENTS…")?;
    let mut command = Command::new(program);
    command.args(words);
    let mut session = Session::new()?;
    let pid = session.spawn(command)?;
    session.resume(pid.leader())?;

    let reactor = Reactor::of(&session)?;
    let mut events = session.events(reactor);
    let mut count = 0;
    while let Some(event) = events.next().await? {
        count += 1;
        if let EventKind::Exited(status) = event.kind {
            println!("process {} exited with {status}", event.pid);
        }
        if event.is_held() {
            events.session().resume(event.tid)?;
        }
    }
    println!("{count} events");
    Ok(())
}
