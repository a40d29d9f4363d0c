// SPDX-License-Identifier: GPL-2.0

//! How the current process becomes a debuggee.

use core::ptr;

use kernel::error::from_err_ptr;
use kernel::ffi::c_void;
use kernel::prelude::*;
use kernel::sync::Arc;
use wire::{Failure, Status};

use crate::breakpoints::teardown;
use crate::channel::opener::Opener;
use crate::ffi;
use crate::process::attachment::Attachment;
use crate::process::debuggee::Debuggee;
use crate::process::registry::{Adoptee, Registry};

/// The session that takes a process, and as what.
pub(crate) struct Terms<'a> {
    pub(crate) registry: &'a Arc<Registry>,
    /// Bits of `wire::commands::option`.
    pub(crate) options: u64,
    /// The number of the debuggee whose place it takes; `None` for a new number.
    pub(crate) number: Option<u64>,
    /// The new number of that debuggee, if its memory is kept, otherwise 0.
    pub(crate) before: u64,
    /// The attachment whose breakpoints and choice it takes over.
    pub(crate) heir: Option<&'a Attachment>,
}

struct Adoption<'a> {
    terms: &'a Terms<'a>,
    process: u64,
    made: Result<Arc<Attachment>, Failure>,
}

/// Makes the current process a debuggee.
///
/// # Errors
/// [`Status::Denied`] where the session's opener may not trace it, and the other errors of `attach`.
pub(crate) fn adopt(terms: &Terms<'_>) -> Result<Arc<Attachment>, Failure> {
    let process = terms.registry.channel.opener.this_thread();
    let mut adoption = Adoption { terms, process, made: Err(Status::NoMemory.into()) };
    // A process may always trace itself, so a kernel thread asks for permission.
    // SAFETY: the function calls `adopt_here` with `adoption` before it returns, and nobody else uses `adoption` meanwhile.
    unsafe { ffi::ntrace_work_run(adopt_here, ptr::from_mut(&mut adoption).cast()) };
    let made = adoption.made?;
    if made.choice.has_syscalls() {
        // SAFETY: the function sets a flag of the current thread.
        unsafe { ffi::ntrace_syscalls_this() };
    }
    Ok(made)
}

/// Whether the opener of a session may trace the current process.
pub(crate) fn is_permitted(registry: &Registry) -> bool {
    let opener = &registry.channel.opener;
    let mut question = Question { opener, process: opener.this_thread() as i32, is_permitted: false };
    // SAFETY: the function calls `ask` with `question` before it returns, and nobody else uses `question` meanwhile.
    unsafe { ffi::ntrace_work_run(ask, ptr::from_mut(&mut question).cast()) };
    question.is_permitted
}

struct Question<'a> {
    opener: &'a Opener,
    process: i32,
    is_permitted: bool,
}

/// # Safety
/// `question` points to a `Question` that nobody else uses.
unsafe extern "C" fn ask(question: *mut c_void) {
    // SAFETY: the caller vouches for the pointer.
    let question = unsafe { &mut *question.cast::<Question<'_>>() };
    if let Ok(memory) = from_err_ptr(question.opener.open_memory(question.process)) {
        // SAFETY: `open_memory` opened the file, and nothing uses it.
        unsafe { ffi::fput(memory) };
        question.is_permitted = true;
    }
}

/// # Safety
/// `adoption` points to an `Adoption` that nobody else uses.
unsafe extern "C" fn adopt_here(adoption: *mut c_void) {
    // SAFETY: the caller vouches for the pointer.
    let adoption = unsafe { &mut *adoption.cast::<Adoption<'_>>() };
    adoption.made = make(adoption.terms, adoption.process);
}

fn make(terms: &Terms<'_>, process: u64) -> Result<Arc<Attachment>, Failure> {
    let Terms { registry, options, number, before, heir } = *terms;
    let _paying = registry.channel.opener.pay();
    let debuggee = Debuggee::new(number, registry, process, options)?;
    if let Some(heir) = heir {
        teardown::inherit(&debuggee.breakpoints(), heir.id)?;
        debuggee.attachment().choice.copy(&heir.choice);
    }
    let made = debuggee.attachment().clone();
    if registry.adopt(Adoptee { debuggee, is_new: number.is_none(), before }) {
        Ok(made)
    } else {
        Err(Failure::new(Status::NoProcess, process))
    }
}
