// SPDX-License-Identifier: GPL-2.0

//! A held thread, as the commands of its session find it.

use fastpath::layout::NTRACE_GENERAL_SIZE;
use fastpath::Registers;
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
    /// The step that the thread carries out when it is resumed.
    step: Option<Step>,
}

impl Shown {
    fn get(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl Held {
    /// The current thread.
    pub(crate) fn this(thread: u64, attachment: u64, channel: &Arc<Channel>) -> Result<Arc<Held>> {
        let mut shown = Shown { bytes: [0; GENERAL], length: 0, changed: false, step: None };
        shown.length = general_registers(&mut shown.bytes);
        Arc::pin_init(
            pin_init!(Held {
                thread,
                attachment,
                channel: channel.clone(),
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

    /// Takes over changed registers. Returns the step that the thread carries out now.
    pub(crate) fn finish(&self, registers: &Registers) -> Option<Step> {
        let shown = self.registers.lock();
        if shown.changed {
            registers.assign(shown.get());
        }
        shown.step
    }

    /// Whether the thread is not resumed yet.
    pub(crate) fn is_held(&self) -> bool {
        self.resumed.get() == 0
    }

    /// The pc.
    pub(crate) fn pc(&self) -> u64 {
        Registers::pc_of(self.registers.lock().get())
    }

    /// Resumes the thread for one instruction.
    pub(crate) fn step(&self, step: Step) {
        self.registers.lock().step = Some(step);
        self.resume();
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
