// SPDX-License-Identifier: GPL-2.0

//! A rule of a session: which processes it traces as soon as they execute a program.

use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kernel::prelude::*;
use kernel::sync::Arc;
use ubp::core::glob;
use wire::commands::following;
use wire::{Failure, Status};

use crate::ffi;
use crate::process::registry::Registry;
use crate::vec::{zeroes, Keep};

/// Bytes of a path at most (PATH_MAX).
const MOST_PATH: usize = 4096;

/// The next rule's number, over all sessions. 0 is no rule's.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A rule, as processes find it.
pub(crate) struct Follow {
    pub(crate) id: u64,
    pub(crate) registry: Arc<Registry>,
    /// Bits of `wire::commands::option`, for the debuggees.
    pub(crate) options: u64,
    conditions: Conditions,
    over: AtomicBool,
}

/// What a process must be. All conditions must hold.
pub(crate) struct Conditions {
    program: KVec<u8>,
    user: u64,
    group: u64,
    namespace: u64,
}

impl Conditions {
    /// The conditions of a command.
    pub(crate) fn new(program: &[u8], user: u64, group: u64, namespace: u64) -> Result<Conditions, Failure> {
        if program.len() > following::MOST_PATTERN {
            return Err(Failure::new(Status::Value, 0));
        }
        if user != following::ANY_USER && u32::try_from(user).is_err() {
            return Err(Failure::new(Status::Value, 1));
        }
        let mut copy = KVec::new();
        copy.extend_from_slice(program, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        Ok(Conditions { program: copy, user, group, namespace })
    }
}

impl Follow {
    /// Whether the session has ended, or the rule was removed.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Whether the rule names the current process.
    pub(crate) fn names_this(&self, program: &mut Program) -> bool {
        let Conditions { program: pattern, user, group, namespace } = &self.conditions;
        let opener = &self.registry.channel.opener;
        // SAFETY: the functions look at the current thread, and the opener has a reference to its credentials.
        let is_wanted = unsafe {
            (*user == following::ANY_USER || ffi::ntrace_follow_is_user(opener.credentials(), *user))
                && (*group == following::ANY_GROUP || ffi::ntrace_follow_is_in_group(*group))
                && (*namespace == following::ANY_NAMESPACE || ffi::ntrace_follow_is_in_namespace(*namespace))
        };
        is_wanted && (pattern.is_empty() || program.path().is_some_and(|path| glob::is_path(pattern, path)))
    }
}

/// The path of the current process' program, which is looked for when it is first asked for.
pub(crate) struct Program(Option<KVVec<u8>>);

impl Program {
    pub(crate) const UNKNOWN: Program = Program(None);

    /// The path. `None` for a program without one, and where there is no memory.
    fn path(&mut self) -> Option<&[u8]> {
        if self.0.is_none() {
            let mut path = KVVec::new();
            zeroes(&mut path, MOST_PATH).ok()?;
            // SAFETY: the buffer has PATH_MAX bytes.
            let length = unsafe { ffi::ntrace_follow_program(path.as_mut_ptr()) };
            path.keep(length);
            self.0 = Some(path);
        }
        self.0.as_deref().filter(|path| !path.is_empty())
    }
}

/// A session's rule. Processes find it as long as this value lives.
pub(crate) struct Follows {
    follow: Arc<Follow>,
    entry: NonNull<ffi::Follow>,
}

// SAFETY: the entry belongs to follow.c, which any thread may ask to remove it.
unsafe impl Send for Follows {}

impl Follows {
    /// Makes a rule that processes find.
    pub(crate) fn new(registry: &Arc<Registry>, options: u64, conditions: Conditions) -> Result<Follows, Failure> {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let follow = Follow { id, registry: registry.clone(), options, conditions, over: AtomicBool::new(false) };
        let follow = Arc::new(follow, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        let (known, mut error) = (ptr::from_ref(&*follow).cast(), 0);
        let cred = registry.channel.opener.credentials();
        // SAFETY: the opener has a reference to its credentials. The rule outlives its entry, which `drop` removes first.
        let entry =
            NonNull::new(unsafe { ffi::ntrace_follow_add(cred, id, known, following::MOST_RULES as _, &mut error) });
        match entry {
            Some(entry) => Ok(Follows { follow, entry }),
            None if error == ENOMEM.to_errno() => Err(Status::NoMemory.into()),
            None => Err(Status::Limit.into()),
        }
    }

    /// The rule's number.
    pub(crate) fn number(&self) -> u64 {
        self.follow.id
    }
}

impl Drop for Follows {
    fn drop(&mut self) {
        // SAFETY: `new` added the entry.
        unsafe { ffi::ntrace_follow_remove(self.entry.as_ptr()) };
        self.follow.over.store(true, Ordering::Release);
        self.follow.registry.channel.look_again();
    }
}

/// Takes a reference to a rule.
///
/// # Safety
/// `follow` is a rule that follow.c knows.
#[no_mangle]
unsafe extern "C" fn ntrace_follow_get(follow: *const Follow) {
    // SAFETY: the pointer came from an `Arc`, whose owner removes it from follow.c before it gives its reference up. `ManuallyDrop` leaves
    // that reference alone.
    let follow = ManuallyDrop::new(unsafe { Arc::from_raw(follow) });
    let _ = Arc::into_raw(Arc::clone(&follow));
}

/// The rule with the lowest number above `id` that may concern the current process. `id` becomes its number.
pub(crate) fn next(id: &mut u64) -> Option<Arc<Follow>> {
    // SAFETY: the function looks at the current thread and writes to `id`.
    let follow = NonNull::new(unsafe { ffi::ntrace_follow_next(id) })?;
    // SAFETY: the function has called `ntrace_follow_get` for the pointer that it returns; this `Arc` owns that reference.
    Some(unsafe { Arc::from_raw(follow.as_ptr().cast_const().cast()) })
}
