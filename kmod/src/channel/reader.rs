// SPDX-License-Identifier: GPL-2.0

//! The process that reads a channel.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::ffi::{self, Mm};
use crate::mm::mm_ref::MmRef;

/// The memory of the process that read last, or null. A reference keeps the structure (mmgrab), but not what it describes.
///
/// While a memory is noted, no other memory can be at its address. So a thread whose memory is at the noted address belongs to the process that
/// read. A load needs no order for that: a thread's memory is allocated after the noted one was freed, and that is freed after it was replaced
/// here.
pub(crate) struct Reader(AtomicPtr<Mm>);

impl Reader {
    /// Nobody.
    pub(crate) const fn none() -> Reader {
        Reader(AtomicPtr::new(null_mut()))
    }

    /// Notes the current process as the one that reads. A thread of the kernel changes nothing: it polls for a process that was noted before.
    pub(crate) fn note(&self) {
        // SAFETY: the function looks at the current thread.
        let memory = unsafe { ffi::ntrace_memory_of_this() };
        if memory.cast_mut() == self.0.load(Ordering::Relaxed) {
            return;
        }
        // SAFETY: the current thread keeps its memory, and does not leave it during this call. It is null for a thread of the kernel.
        let Some(memory) = (unsafe { memory.as_ref() }) else { return };
        let before = self.0.swap(MmRef::grab(memory).into_raw(), Ordering::AcqRel);
        // SAFETY: `before` came from `into_raw` and was taken out, so nobody else gives the reference back.
        drop(unsafe { MmRef::from_raw(before) });
    }

    /// Whether the current process is the one that read last.
    pub(crate) fn is_this(&self) -> bool {
        // SAFETY: the function looks at the current thread.
        self.0.load(Ordering::Relaxed).cast_const() == unsafe { ffi::ntrace_memory_of_this() }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // SAFETY: the pointer is null or came from `into_raw`, and nobody else has this `Reader` any more.
        drop(unsafe { MmRef::from_raw(*self.0.get_mut()) });
    }
}
