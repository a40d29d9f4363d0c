// SPDX-License-Identifier: GPL-2.0

//! A held thread, as the commands of its session find it.

use fastpath::layout::{NTRACE_GENERAL_SIZE, NTRACE_NSIG};
use fastpath::Registers;
use kernel::ffi::c_int;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};
use wire::{Failure, Status};

use crate::channel::channel::Channel;
use crate::channel::messages::FULL;
use crate::channel::wait_count::WaitCount;
use crate::ffi;
use crate::thread::step::Step;

/// Bytes of the general registers as ptrace shows them.
pub(crate) const GENERAL: usize = NTRACE_GENERAL_SIZE as usize;

/// A held thread. Commands change a copy of its registers, which the thread takes over when it is resumed.
#[pin_data]
pub(crate) struct Held {
    /// The thread's number for the session's opener.
    pub(crate) thread: u64,
    /// The number of the attachment that holds it.
    pub(crate) attachment: u64,
    channel: Arc<Channel>,
    /// Whether it is inside the kernel's work on a system call or a signal.
    is_inside: bool,
    /// 1 once the thread is resumed.
    #[pin]
    resumed: WaitCount,
    #[pin]
    registers: Mutex<Shown>,
}

/// The registers of a held thread, as commands see and change them.
struct Shown {
    bytes: [u8; GENERAL],
    length: usize,
    changed: bool,
    /// What the thread does when it is resumed.
    next: Next,
    /// The signal that the thread gets when it is resumed, if the session has chosen one; 0 for none.
    signal: Option<c_int>,
}

/// What a thread does when it is resumed.
#[derive(Clone, Copy)]
pub(crate) enum Next {
    Run,
    /// It carries out a step.
    Step(Step),
    /// It is held again on its way to user mode.
    StepOut,
}

impl Shown {
    fn get(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl Held {
    /// The current thread. `is_inside` says whether it is inside the kernel's work on a system call or a signal.
    pub(crate) fn this(thread: u64, attachment: u64, channel: &Arc<Channel>, is_inside: bool) -> Result<Arc<Held>> {
        let mut shown = Shown { bytes: [0; GENERAL], length: 0, changed: false, next: Next::Run, signal: None };
        shown.length = general_registers(&mut shown.bytes);
        Arc::pin_init(
            pin_init!(Held {
                thread,
                attachment,
                channel: channel.clone(),
                is_inside,
                resumed <- WaitCount::new(),
                registers <- new_mutex!(shown, "ntrace registers"),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// Sleeps until the thread is resumed or killed.
    pub(crate) fn wait(&self) {
        self.resumed.wait_killable(1);
    }

    /// Sleeps until the channel has room for an event, or the thread is resumed or killed.
    pub(crate) fn wait_for_room(&self) {
        self.channel.unread().wait_below(FULL, &self.resumed);
    }

    /// Takes over changed registers. Returns what the thread does now, and the signal that the session has chosen.
    pub(crate) fn finish(&self, registers: &Registers) -> (Next, Option<c_int>) {
        let shown = self.registers.lock();
        if shown.changed {
            registers.assign(shown.get());
        }
        (shown.next, shown.signal)
    }

    /// Whether the thread is not resumed yet.
    pub(crate) fn is_held(&self) -> bool {
        self.resumed.get() == 0
    }

    /// The pc.
    pub(crate) fn pc(&self) -> u64 {
        Registers::pc_of(self.registers.lock().get())
    }

    /// Whether the thread is inside the kernel's work on a system call or a signal.
    pub(crate) fn is_inside(&self) -> bool {
        self.is_inside
    }

    /// Resumes the thread for one instruction.
    pub(crate) fn step(&self, step: Step) {
        self.registers.lock().next = Next::Step(step);
        self.resume();
    }

    /// Resumes the thread until it is about to go on in user mode.
    pub(crate) fn step_out(&self) {
        self.registers.lock().next = Next::StepOut;
        self.resume();
    }

    /// Chooses the signal that the thread gets when it is resumed.
    pub(crate) fn set_signal(&self, signal: u64) -> Result<(), Failure> {
        if signal > NTRACE_NSIG {
            return Err(Failure::new(Status::Value, 1));
        }
        self.registers.lock().signal = Some(signal as c_int);
        Ok(())
    }

    /// Resumes the thread.
    pub(crate) fn resume(&self) {
        self.resumed.set(1);
        // It may wait for room.
        self.channel.unread().wake();
    }

    /// Appends the registers to `to`.
    pub(crate) fn registers(&self, to: &mut KVVec<u8>) -> Result<(), Failure> {
        let shown = self.registers.lock();
        to.extend_from_slice(shown.get(), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory.into())
    }

    /// Changes the registers.
    pub(crate) fn set_registers(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut shown = self.registers.lock();
        if bytes.len() != shown.length {
            return Err(Failure::new(Status::Value, 1));
        }
        for (to, from) in shown.bytes.iter_mut().zip(bytes) {
            *to = *from;
        }
        shown.changed = true;
        Ok(())
    }
}

/// Fills `bytes` with the general registers of the current thread. Returns how many bytes they have.
pub(crate) fn general_registers(bytes: &mut [u8]) -> usize {
    // SAFETY: the function writes at most `bytes.len()` bytes.
    unsafe { ffi::ntrace_registers_get(bytes.as_mut_ptr().cast(), bytes.len()) }
}
