//! The conversation with a client.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::adapter::Adapter;
use super::link::Link;
use crate::failure::{Failure, Result};

/// The milliseconds between two looks at what log points recorded.
const LOOK: u8 = 50;

impl Adapter {
    /// Talks with a client until it leaves, or until `stop` is readable. Programs that the client started are killed then, others run on
    /// without breakpoints.
    ///
    /// # Errors
    /// The connection failed, or the kernel refuses what a debugger needs. The programs are left all the same.
    pub(crate) fn serve(mut self, input: OwnedFd, output: OwnedFd, stop: BorrowedFd<'_>) -> Result<()> {
        let mut link = Link::new(input, output, stop);
        let end = self.converse(&mut link, stop);
        self.leave_programs();
        end
    }

    fn converse(&mut self, link: &mut Link<'_>, stop: BorrowedFd<'_>) -> Result<()> {
        loop {
            while let Some(request) = link.next()? {
                let answer = self.answer(&request);
                link.send(answer)?;
                self.send_events(link)?;
                if self.has_ended {
                    return Ok(());
                }
            }
            let is_more = self.take_events()?;
            self.send_events(link)?;
            let ready = |descriptor| PollFd::new(descriptor, PollFlags::POLLIN);
            let mut waited = vec![ready(link.descriptor()), ready(stop), ready(self.session.as_fd())];
            waited.extend(self.pipes.iter().map(|pipe| ready(pipe.as_fd())));
            // Code that records wakes nobody.
            let timeout = match self.is_running && self.wanted.has_plain_logs() {
                _ if is_more => PollTimeout::ZERO,
                true => LOOK.into(),
                false => PollTimeout::NONE,
            };
            match poll(&mut waited, timeout) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(Failure::own(format!("poll: {error}"))),
            }
            let is_ready: Vec<bool> = waited.iter().map(|one| one.any().unwrap_or(false)).collect();
            let is_ready = |at: usize| is_ready.get(at).copied().unwrap_or(false);
            if is_ready(1) || is_ready(0) && !link.fill()? {
                return Ok(());
            }
            self.take_output(|pipe| is_ready(3 + pipe));
        }
    }

    fn send_events(&mut self, link: &mut Link<'_>) -> Result<()> {
        for event in std::mem::take(&mut self.outbox) {
            link.send(event)?;
        }
        Ok(())
    }
}
