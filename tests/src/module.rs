//! A process that the kernel module traces, in which one breakpoint is set at a time.

use std::path::Path;

use wire::{Failure, Status};

use crate::channel::{self, Channel};
use crate::sites;

/// A session with one process.
#[derive(Debug)]
pub struct Module {
    channel: Channel,
    debuggee: u64,
}

impl Module {
    /// A session with the process that is attached by a function; none where the module is not loaded. Its storage is made for the code
    /// at `site`, so that from now on the process' memory is laid out as it is with a breakpoint there.
    ///
    /// # Errors
    /// The kernel's.
    pub fn attach(
        site: u64,
        attach: impl FnOnce(&mut Channel) -> Result<u64, Failure>,
    ) -> Result<Option<Module>, Failure> {
        if !Path::new(channel::DEVICE).exists() {
            return Ok(None);
        }
        let mut channel = channel::open();
        let debuggee = attach(&mut channel)?;
        let mut module = Module { channel, debuggee };
        if !module.insert(site)? {
            return Err(Failure::new(Status::Unsupported, site));
        }
        module.remove(site)?;
        Ok(Some(module))
    }

    /// Sets a breakpoint that counts; false where its instruction would have to be single-stepped.
    ///
    /// # Errors
    /// The kernel's.
    pub fn insert(&mut self, site: u64) -> Result<bool, Failure> {
        let (_, failures) = sites::insert(&mut self.channel, self.debuggee, &[site])?;
        match failures.first().map(|[_, status, detail]| (Status::from_number(*status), *detail)) {
            None => Ok(true),
            Some((Some(Status::Unsupported), _)) => Ok(false),
            Some((status, detail)) => Err(Failure::new(status.unwrap_or(Status::Unknown), detail)),
        }
    }

    /// Removes the breakpoint; returns its hits.
    ///
    /// # Errors
    /// The kernel's.
    pub fn remove(&mut self, site: u64) -> Result<u64, Failure> {
        let counts = sites::counts(&mut self.channel, self.debuggee, &[site])?;
        sites::remove(&mut self.channel, self.debuggee, &[site])?;
        Ok(counts.first().copied().unwrap_or_default())
    }
}
