// SPDX-License-Identifier: GPL-2.0

//! A traced process, and who may trace it.

use core::ptr;
use core::sync::atomic::Ordering;

use kernel::error::from_err_ptr;
use kernel::ffi::c_void;
use kernel::prelude::*;
use kernel::sync::Arc;
use wire::commands::option;
use wire::{Failure, Status};

use crate::breakpoints::table;
use crate::breakpoints::teardown::{self, Threads};
use crate::channel::channel::Channel;
use crate::ffi::{self, Cred, File, Namespace};
use crate::mm::space::Space;
use crate::mm::space_table::User;
use crate::process::attachment::{Watch, Why};
use crate::thread::step::Step;
use crate::vec::{set_length, Keep};

/// The most processes of a session, each of which has a description of its memory.
const MOST: usize = 1 << 12;

/// Who opened a channel: whose rights it has, and by whose numbers it knows processes.
pub(crate) struct Opener {
    cred: *const Cred,
    namespace: *mut Namespace,
}

// SAFETY: both are counted by the kernel, and belong to no thread.
unsafe impl Send for Opener {}
// SAFETY: the same.
unsafe impl Sync for Opener {}

impl Opener {
    /// By whose numbers it knows processes and threads.
    pub(crate) fn namespace(&self) -> *mut Namespace {
        self.namespace
    }

    /// The one who opens `file` now.
    ///
    /// # Safety
    /// The file is open.
    pub(crate) unsafe fn of(file: *const File) -> Opener {
        // SAFETY: the file is open; `drop` gives both references back.
        Opener { cred: unsafe { ffi::ntrace_file_cred(file) }, namespace: unsafe { ffi::ntrace_namespace() } }
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        // SAFETY: `of` took references.
        unsafe {
            ffi::ntrace_cred_put(self.cred);
            ffi::put_pid_ns(self.namespace);
        }
    }
}

/// A process that may be traced. It is known by its memory: for another program that it executes there is another one of these.
pub(crate) struct Debuggee {
    /// What commands name it by.
    pub(crate) number: u64,
    /// What its breakpoints are told by from those of others.
    pub(crate) owner: u64,
    user: User,
    /// Of a session's debuggee.
    watch: Option<Arc<Watch>>,
    /// Its memory stays though it ends.
    kept: bool,
    /// Who reads its memory has the lock of its mappings.
    locked: bool,
    /// The last steps of threads.
    pub(crate) steps: KVec<(u64, Step)>,
}

impl Debuggee {
    /// Asks whether the opener may trace a process.
    pub(crate) fn new(
        number: Option<u64>,
        channel: &Arc<Channel>,
        process: u64,
        options: u64,
    ) -> Result<Debuggee, Failure> {
        if channel.debuggees.load(Ordering::Relaxed) >= MOST {
            return Err(Failure::new(Status::Limit, MOST as u64));
        }
        let gone = Failure::new(Status::NoProcess, process);
        let process = i32::try_from(process).map_err(|_| gone)?;
        // SAFETY: the opener's file is open, and it holds its namespace.
        let opened = unsafe { ffi::ntrace_memory_open(channel.opener.cred, channel.opener.namespace, process) };
        match from_err_ptr(opened) {
            Ok(memory) => {
                // SAFETY: the file is open; its private data is the process' memory, to which it has a reference.
                let user = User::of(unsafe { ffi::ntrace_file_private(memory) });
                // SAFETY: it was opened here.
                unsafe { ffi::fput(memory) };
                let (user, owner) = (user.map_err(|_| Status::NoMemory)?, table::owner());
                let number = number.unwrap_or_else(|| channel.next_number());
                let watch = Watch::new(owner, number, options, channel.clone()).map_err(|_| Status::NoMemory)?;
                user.space().add_watch(&watch)?;
                channel.debuggees.fetch_add(1, Ordering::Relaxed);
                let (known, place) = (ptr::from_ref(&*watch).cast(), watch.life());
                let watch = Some(watch);
                let mut debuggee =
                    Debuggee { number, owner, user, watch, kept: false, locked: false, steps: KVec::new() };
                if options & option::KEEP != 0 {
                    // SAFETY: there is a reference to the description.
                    debuggee.kept = unsafe { ffi::ntrace_memory_keep(debuggee.mm()) };
                }
                let namespace = channel.opener.namespace;
                // SAFETY: the watch is given up only after `ntrace_life_end`, when the debuggee is dropped.
                match unsafe { ffi::ntrace_life_begin(namespace, process, debuggee.mm(), known, place) } {
                    0 => Ok(debuggee),
                    error if error == ENOMEM.to_errno() => Err(Status::NoMemory.into()),
                    _ => Err(gone),
                }
            }
            Err(error) if error == EACCES || error == EPERM => Err(Failure::new(Status::Denied, process as u64)),
            Err(error) if error == ENOMEM => Err(Status::NoMemory.into()),
            Err(_) => Err(gone),
        }
    }

    /// One with the breakpoints of all sessions, which is no session's; `locked` for who has the lock of its mappings and only reads.
    #[inline(never)]
    pub(crate) fn of_nobody(user: User, locked: bool) -> Debuggee {
        Debuggee { number: 0, owner: 0, user, watch: None, kept: false, locked, steps: KVec::new() }
    }

    /// A session's interest in it.
    pub(crate) fn watch(&self) -> Option<Arc<Watch>> {
        self.watch.clone()
    }

    /// Whether it has ended, or may be traced no longer.
    pub(crate) fn is_over(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.is_over())
    }

    /// Whether nobody can ask for anything of it any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_over() && !self.kept
    }

    /// The memory of a program that executed another one by another number, where it is kept.
    pub(crate) fn renamed(mut self, number: u64) -> Result<Debuggee, Debuggee> {
        if !self.kept || number == 0 {
            return Err(self);
        }
        self.number = number;
        Ok(self)
    }

    /// Kills it where it was attached so: its session ends.
    pub(crate) fn kill(&self) {
        if let Some(watch) = self.watch.as_ref().filter(|watch| watch.options & option::KILL != 0) {
            // SAFETY: the place is the watch's.
            unsafe { ffi::ntrace_life_kill(watch.life()) };
        }
    }

    /// Its address space.
    pub(crate) fn space(&self) -> &Space {
        self.user.space()
    }

    /// Holds a thread, or all for 0, as soon as it is about to run in user mode.
    pub(crate) fn hold(&self, thread: u64) -> Result<(), Failure> {
        let Some(watch) = &self.watch else { return Ok(()) };
        let namespace = watch.channel.opener.namespace;
        let mut threads = KVVec::new();
        if thread == 0 {
            self.threads(namespace, &mut threads)?;
        } else {
            threads.push(thread, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        }
        let mut found = false;
        // The kernel has numbers of 32 bits.
        for number in threads.iter().filter(|number| i32::try_from(**number).is_ok()) {
            watch.call(*number, Why::Asked).map_err(|_| Status::NoMemory)?;
            // SAFETY: the namespace is the opener's, which has it.
            let called = unsafe { ffi::ntrace_thread_call(self.mm(), namespace, *number as _) };
            if !called {
                watch.forget(*number, Why::Asked);
            }
            found |= called;
        }
        if found {
            Ok(())
        } else {
            Err(Failure::new(Status::NoThread, thread))
        }
    }

    fn threads(&self, namespace: *mut Namespace, numbers: &mut KVVec<u64>) -> Result<(), Failure> {
        let mut most = 16;
        loop {
            numbers.reserve(most, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
            let room = numbers.spare_capacity_mut().as_mut_ptr();
            // SAFETY: there is room for so many.
            let count = unsafe { ffi::ntrace_threads_list(self.mm(), namespace, room.cast(), most as _) } as usize;
            if count <= most {
                // SAFETY: so many were written.
                unsafe { set_length(numbers, count) };
                return Ok(());
            }
            most = count;
        }
    }

    /// Fills `bytes` up to the first that cannot be read; says how many were.
    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<usize, Failure> {
        let (to, size) = (bytes.as_mut_ptr().cast(), bytes.len());
        // SAFETY: there is room for as many bytes, and who made this knows of the lock.
        let read = unsafe { ffi::ntrace_memory_read(self.mm(), address as _, to, size as _, self.locked) };
        self.count(read)
    }

    /// Writes all `bytes`, or none of them where one cannot be written; says how many stand before that one.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<usize, Failure> {
        // SAFETY: as many bytes are there.
        let written =
            unsafe { ffi::ntrace_memory_write(self.mm(), address as _, bytes.as_ptr().cast(), bytes.len() as _) };
        self.count(written)
    }

    fn count(&self, told: kernel::ffi::c_long) -> Result<usize, Failure> {
        match usize::try_from(told) {
            Ok(count) => Ok(count),
            Err(_) if told == ENOMEM.to_errno() as _ => Err(Status::NoMemory.into()),
            Err(_) => Err(self.gone()),
        }
    }

    /// Four words for each mapping: addresses, protection, offset.
    pub(crate) fn mappings(&self, words: &mut KVVec<u64>) -> Result<(), Failure> {
        let mut most = 0;
        loop {
            words.keep(0);
            words.reserve(most * 4, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
            let room = words.spare_capacity_mut().as_mut_ptr();
            // SAFETY: there is room for so many.
            let count = unsafe { ffi::ntrace_memory_mappings(self.mm(), room.cast(), most as _) };
            let count = usize::try_from(count).map_err(|_| self.gone())?;
            if count <= most {
                // SAFETY: so many were written.
                unsafe { set_length(words, count * 4) };
                return Ok(());
            }
            most = count;
        }
    }

    /// The kernel's description of its memory.
    pub(crate) fn mm(&self) -> *mut c_void {
        self.space().mm()
    }

    /// Keeps the memory no longer: of a process that has ended nothing has to be taken out.
    fn leave_memory(&mut self) {
        if core::mem::take(&mut self.kept) {
            // SAFETY: it was kept by `new`.
            unsafe { ffi::ntrace_memory_leave(self.mm()) };
        }
    }

    fn gone(&self) -> Failure {
        Failure::new(Status::NoProcess, self.number)
    }
}

impl Drop for Debuggee {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take() {
            // SAFETY: the place is the watch's, to which there is a reference.
            unsafe { ffi::ntrace_life_end(watch.life()) };
            watch.channel.debuggees.fetch_sub(1, Ordering::Relaxed);
            self.space().forget_watch(watch.owner);
            // Who is about to be held sees it, or is let go.
            watch.end();
            watch.channel.release(Some(watch.owner));
            self.leave_memory();
            // SAFETY: the callee calls `end` with this before it returns.
            unsafe { ffi::ntrace_memory_work(end, ptr::from_ref(self).cast_mut().cast()) };
        }
        self.leave_memory();
    }
}

/// # Safety
/// `debuggee` is one.
unsafe extern "C" fn end(debuggee: *mut c_void) {
    // SAFETY: the caller's promise.
    teardown::end(unsafe { &*debuggee.cast::<Debuggee>() }, Threads::All);
}
