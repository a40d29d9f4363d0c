// SPDX-License-Identifier: GPL-2.0

//! A process that a session traces, as its commands know it.

use core::mem::ManuallyDrop;
use core::ptr;

use kernel::error::from_err_ptr;
use kernel::ffi::c_void;
use kernel::prelude::*;
use kernel::sync::Arc;
use wire::commands::{option, reported};
use wire::{Failure, Status};

use crate::breakpoints::table::Breakpoints;
use crate::breakpoints::teardown::{self, Threads};
use crate::ffi::{self, Mm};
use crate::mm::remote::Remote;
use crate::mm::space::Space;
use crate::process::attachment::{Attachment, Cause};
use crate::process::job::Job;
use crate::process::kept::Kept;
use crate::process::registry::Registry;
use crate::process::traced_table::TracedRef;
use crate::thread::step::{Step, Steps};
use crate::vec::set_length;

/// A process that a session traces. It is one memory: a program that the process executes is another debuggee.
pub(crate) struct Debuggee {
    /// The number that commands name it by.
    pub(crate) number: u64,
    traces: ManuallyDrop<KBox<Traces>>,
    /// The job that removes the breakpoints at the end. It is made beforehand, because the end must not fail.
    job: ManuallyDrop<Job>,
    /// What is kept of the process after its end, with the option KEEP.
    kept: Option<Arc<Kept<TracedRef>>>,
    steps: Steps,
}

/// What a session has left in a process.
struct Traces {
    attachment: Arc<Attachment>,
    traced: TracedRef,
}

impl Debuggee {
    /// Attaches to a process, if the opener of the channel may trace it. A debuggee without a `number` gets the next one.
    pub(crate) fn new(
        number: Option<u64>,
        registry: &Arc<Registry>,
        process: u64,
        options: u64,
    ) -> Result<Debuggee, Failure> {
        registry.has_room()?;
        let gone = Failure::new(Status::NoProcess, process);
        let process = i32::try_from(process).map_err(|_| gone)?;
        let opener = &registry.channel.opener;
        match from_err_ptr(opener.open_memory(process)) {
            Ok(memory) => {
                // SAFETY: the file is open. Its private data is the process' `struct mm_struct`, to which the file has a reference. Some kernels
                // open the memory of a process that has none, and keep a null pointer.
                let traced = unsafe { ffi::ntrace_file_private(memory).cast::<Mm>().as_ref() }.map(TracedRef::of);
                // SAFETY: `open_memory` opened the file, and nothing uses it any more.
                unsafe { ffi::fput(memory) };
                let traced = traced.ok_or(gone)?.map_err(|_| Status::NoMemory)?;
                let number = number.unwrap_or_else(|| registry.next_number());
                let attachment = Attachment::new(number, options, registry.clone()).map_err(|_| Status::NoMemory)?;
                let job = Job::new()?;
                let traces = Traces { attachment: attachment.clone(), traced };
                let traces = KBox::new(traces, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
                traces.traced.traced().attach(&attachment)?;
                registry.count();
                let (known, life) = (ptr::from_ref(&*attachment).cast(), attachment.life());
                let (traces, job) = (ManuallyDrop::new(traces), ManuallyDrop::new(job));
                let mut debuggee = Debuggee { number, traces, job, kept: None, steps: Steps::NONE };
                if options & option::KEEP != 0 {
                    let traced = TracedRef::of(debuggee.space().mm()).map_err(|_| Status::NoMemory)?;
                    let owner = debuggee.attachment();
                    let kept = Kept::of(&registry.channel, owner.id, owner.debuggee, &owner.at_end, traced)?;
                    debuggee.kept = kept;
                }
                let mm = debuggee.space().mm();
                // SAFETY: the opener has a reference to its namespace. The attachment outlives its entry in lifecycle.c, which
                // `Debuggee::drop` removes first.
                match unsafe { ffi::ntrace_life_add(opener.namespace(), process, mm, known, life) } {
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

    /// The session's attachment.
    pub(crate) fn attachment(&self) -> &Arc<Attachment> {
        &self.traces.attachment
    }

    fn space(&self) -> &Space {
        self.traces.traced.space()
    }

    /// Whether the process has ended or may no longer be traced.
    pub(crate) fn is_over(&self) -> bool {
        self.attachment().is_over()
    }

    /// What is kept of a process that has ended.
    pub(crate) fn kept(&self) -> Option<&Arc<Kept<TracedRef>>> {
        self.kept.as_ref().filter(|_| self.is_over())
    }

    /// Whether commands can do nothing with it any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_over() && self.kept.is_none()
    }

    /// Gives another number to the memory of a program that executed another one. Returns the debuggee as an error if its memory is not
    /// kept or `number` is 0.
    pub(crate) fn renamed(mut self, number: u64) -> Result<Debuggee, Debuggee> {
        if self.kept.is_none() || number == 0 {
            return Err(self);
        }
        self.number = number;
        Ok(self)
    }

    /// Kills the process if it is attached with that option: its session ends.
    pub(crate) fn kill(&self) {
        if self.attachment().options & option::KILL != 0 {
            // SAFETY: lifecycle.c has written to `life` alone, which lives as long as the attachment.
            unsafe { ffi::ntrace_life_kill(self.attachment().life()) };
        }
    }

    /// The memory of the process.
    pub(crate) fn memory(&self) -> Remote<'_> {
        Remote::new(self.space().mm(), self.number)
    }

    /// The session's breakpoints in the process.
    #[inline(never)]
    pub(crate) fn breakpoints(&self) -> Breakpoints<'_> {
        Breakpoints::new(self.space(), self.memory(), self.attachment().id)
    }

    /// Chooses the system calls and signals of which the session is told.
    pub(crate) fn report(&self, what: u64, calls: &[u8]) -> Result<(), Failure> {
        self.attachment().choice.set(what, calls)?;
        if what & reported::SYSCALLS != 0 {
            // SAFETY: `space` has a reference to the memory.
            unsafe { ffi::ntrace_threads_tell_syscalls(self.space().mm()) };
        }
        Ok(())
    }

    /// Watches memory. Returns the watchpoint's number.
    pub(crate) fn watch(&self, address: u64, length: u64, access: u64) -> Result<u64, Failure> {
        self.space().storages.watch();
        self.attachment().watches.add(self.space().mm(), address, length, access)
    }

    /// Removes a watchpoint.
    pub(crate) fn unwatch(&self, watch: u64) -> Result<(), Failure> {
        self.attachment().watches.remove(watch)
    }

    /// Prepares the step of a held thread, which is at `address`.
    pub(crate) fn step(&mut self, thread: u64, address: u64) -> Result<Step, Failure> {
        let Traces { attachment, traced } = &**self.traces;
        let memory = Remote::new(traced.space().mm(), self.number);
        let breakpoints = Breakpoints::new(traced.space(), memory, attachment.id);
        self.steps.prepare(&breakpoints, thread, address)
    }

    /// Holds a thread, or all threads for 0, as soon as it is about to run in user mode.
    pub(crate) fn hold(&self, thread: u64) -> Result<(), Failure> {
        let (mm, namespace) = (self.space().mm(), self.attachment().channel().opener.namespace());
        let mut threads = KVVec::new();
        if thread == 0 {
            self.threads(&mut threads)?;
        } else {
            threads.push(thread, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        }
        let mut found = false;
        // The kernel's numbers have 32 bits.
        for number in threads.iter().filter(|number| i32::try_from(**number).is_ok()) {
            self.attachment().request(*number, Cause::Hold).map_err(|_| Status::NoMemory)?;
            // SAFETY: the opener has a reference to its namespace.
            let notified = unsafe { ffi::ntrace_thread_notify(mm, namespace, *number as _) };
            if !notified {
                self.attachment().withdraw(*number, Cause::Hold);
            }
            found |= notified;
        }
        if found {
            Ok(())
        } else {
            Err(Failure::new(Status::NoThread, thread))
        }
    }

    /// The numbers of all threads.
    fn threads(&self, numbers: &mut KVVec<u64>) -> Result<(), Failure> {
        let (mm, namespace) = (self.space().mm(), self.attachment().channel().opener.namespace());
        let mut most = 16;
        loop {
            numbers.reserve(most, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
            let room = numbers.spare_capacity_mut().as_mut_ptr();
            // SAFETY: `room` has space for `most` numbers, and the opener has a reference to its namespace.
            let count = unsafe { ffi::ntrace_threads_list(mm, namespace, room.cast(), most as _) } as usize;
            if count <= most {
                // SAFETY: the function wrote all `count` numbers.
                unsafe { set_length(numbers, count) };
                return Ok(());
            }
            most = count;
        }
    }
}

impl Drop for Debuggee {
    fn drop(&mut self) {
        // SAFETY: the fields are not used after this.
        let (traces, job) = unsafe { (ManuallyDrop::take(&mut self.traces), ManuallyDrop::take(&mut self.job)) };
        let Traces { attachment, traced } = &*traces;
        let registry = &attachment.registry;
        // SAFETY: lifecycle.c has written to `life` alone, and the attachment is still referenced.
        unsafe { ffi::ntrace_life_remove(attachment.life()) };
        registry.uncount();
        traced.traced().detach(attachment.id);
        // A thread that is about to be held sees `is_over`; one that is held already is resumed.
        attachment.end();
        attachment.watches.clear();
        registry.release(attachment.id);
        // A kept memory whose process has ended goes here, so that its breakpoints need not be removed.
        if let Some(kept) = self.kept.take() {
            kept.abandon(&attachment.at_end);
        }
        registry.endings.add(1);
        // SAFETY: `end` takes `traces` over, which any thread may use.
        unsafe { job.queue(end, KBox::into_raw(traces).cast()) };
    }
}

/// Removes a session's breakpoints. A process that does not answer holds up nobody but this job.
///
/// # Safety
/// `traces` was made by `KBox::into_raw` from `Traces`, and nobody else uses it.
unsafe extern "C" fn end(traces: *mut c_void) {
    // SAFETY: the caller vouches for the pointer.
    let traces = unsafe { KBox::from_raw(traces.cast::<Traces>()) };
    let registry = traces.attachment.registry.clone();
    let paying = registry.channel.opener.pay();
    let space = traces.traced.space();
    let memory = Remote::new(space.mm(), traces.attachment.debuggee);
    teardown::end(&Breakpoints::new(space, memory, traces.attachment.id), Threads::All);
    drop(traces);
    drop(paying);
    registry.endings.add(-1);
}
