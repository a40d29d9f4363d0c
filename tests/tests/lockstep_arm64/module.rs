//! A session of the kernel module with the process that runs the test.

use std::path::Path;

use crossing::channel::{self, Channel};
use crossing::sites;
use wire::Status;

pub(crate) struct Module {
    channel: Channel,
    debuggee: u64,
}

impl Module {
    /// A session; none where the module is not loaded. Its storage is made for code at `site`.
    pub(crate) fn attach(site: u64) -> Option<Module> {
        if !Path::new(channel::DEVICE).exists() {
            return None;
        }
        let mut channel = channel::open();
        let debuggee = attach_by_another(&mut channel);
        let mut module = Module { channel, debuggee };
        module.insert(site);
        module.remove(site);
        Some(module)
    }

    /// Sets a breakpoint that counts; false where its instruction would have to be single-stepped.
    pub(crate) fn insert(&mut self, site: u64) -> bool {
        let (_, failures) = sites::insert(&mut self.channel, self.debuggee, &[site]).expect("a channel");
        let is_unsupported = |[_, status, _]: &[u64; 3]| *status == Status::Unsupported as u64;
        assert!(failures.iter().all(is_unsupported), "{failures:x?}");
        failures.is_empty()
    }

    /// Takes the breakpoint out; gives its hits.
    pub(crate) fn remove(&mut self, site: u64) -> u64 {
        let counts = sites::counts(&mut self.channel, self.debuggee, &[site]).expect("a channel");
        sites::remove(&mut self.channel, self.debuggee, &[site]).expect("a channel");
        counts[0]
    }
}

/// No process may attach itself: a child does it on the same channel, and tells the number by its status.
fn attach_by_another(channel: &mut Channel) -> u64 {
    let process = std::process::id();
    // SAFETY: the child only writes and reads, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let debuggee = channel::attach(channel, process).ok().and_then(|number| i32::try_from(number).ok());
        // SAFETY: it ends the child.
        unsafe { libc::_exit(debuggee.unwrap_or(0)) };
    }
    let mut status = 0;
    // SAFETY: the child is this process' and nobody else waits for it.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) != 0, "the child attached nothing: {status:#x}");
    libc::WEXITSTATUS(status) as u64
}
