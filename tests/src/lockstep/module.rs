//! Passing the probed instruction by the kernel module, where it is loaded.

use std::io::{Error, Result};
use std::path::Path;

use libc::pid_t;
use wire::Status;

use crate::channel::{self, Channel};
use crate::sites;

/// A session with the child.
pub(super) struct Module {
    channel: Channel,
    debuggee: u64,
}

impl Module {
    /// A session with the process; none where the module is not loaded. Its storage is made for the code at `site`, so that from now on
    /// the process' memory is laid out as it is with a breakpoint there.
    pub(super) fn attach(process: pid_t, site: u64) -> Result<Option<Module>> {
        if !Path::new(channel::DEVICE).exists() {
            return Ok(None);
        }
        let mut channel = channel::open();
        let debuggee = channel::attach(&mut channel, process.unsigned_abs()).map_err(Error::other)?;
        let mut module = Module { channel, debuggee };
        if !module.insert(site)? {
            return Err(Error::other(format!("no breakpoint on what is at {site:#x}")));
        }
        module.remove(site)?;
        Ok(Some(module))
    }

    /// Sets a breakpoint; false where its instruction would have to be single-stepped.
    pub(super) fn insert(&mut self, site: u64) -> Result<bool> {
        let (_, failures) = sites::insert(&mut self.channel, self.debuggee, &[site]).map_err(Error::other)?;
        match failures.first() {
            None => Ok(true),
            Some([_, status, _]) if *status == Status::Unsupported as u64 => Ok(false),
            Some(failure) => Err(Error::other(format!("no breakpoint: {failure:x?}"))),
        }
    }

    /// Takes the breakpoint out; gives its hits.
    pub(super) fn remove(&mut self, site: u64) -> Result<u64> {
        let counts = sites::counts(&mut self.channel, self.debuggee, &[site]).map_err(Error::other)?;
        sites::remove(&mut self.channel, self.debuggee, &[site]).map_err(Error::other)?;
        Ok(counts.first().copied().unwrap_or_default())
    }
}
