// SPDX-License-Identifier: GPL-2.0

//! A thread that is held until its session lets it go.

use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};
use wire::events::Event;
use wire::{Failure, Status};

use crate::channel::wait_count::Waiters;
use crate::ffi;
use crate::process::attachment::{Watch, Why};
use crate::thread::step::Step;
use fastpath::Registers;

/// The most bytes of a machine's general registers, as ptrace has them.
pub(crate) const GENERAL: usize = 34 * 8;

/// Why a thread is held; `held` has the same.
#[derive(Clone, Copy)]
pub(crate) enum Reason {
    Breakpoint = 1,
    Stepped = 2,
    Asked = 3,
    Executed = 4,
    Begun = 5,
}

/// A held thread. It sets its own registers when it goes on: nobody else touches them.
#[pin_data]
pub(crate) struct Held {
    /// Its number, as the session's opener knows it.
    pub(crate) thread: u64,
    /// Whom its session's breakpoints in the process are told by.
    pub(crate) owner: u64,
    /// 1 when it may go.
    #[pin]
    go: Waiters,
    #[pin]
    registers: Mutex<Shown>,
}

/// What is shown of a thread's registers, and may be changed.
struct Shown {
    bytes: [u8; GENERAL],
    length: usize,
    changed: bool,
    /// What it does when it goes on.
    step: Option<Step>,
}

impl Shown {
    fn get(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl Held {
    /// Holds the thread that runs here until it is let go or killed.
    pub(crate) fn hold(watch: &Watch, mut reason: Reason, registers: &mut Registers) {
        while Held::hold_once(watch, reason, registers) {
            reason = Reason::Stepped;
        }
    }

    /// The same; says whether it has carried out one instruction and is to be held again.
    #[inline(never)]
    fn hold_once(watch: &Watch, reason: Reason, registers: &mut Registers) -> bool {
        let (channel, debuggee) = (&watch.channel, watch.debuggee);
        // Its step is over.
        watch.forget(channel.thread(), Why::Signalled);
        let pc = registers.pc();
        let mut shown = Shown { bytes: [0; GENERAL], length: 0, changed: false, step: None };
        shown.length = current(&mut shown.bytes);
        let held = Arc::pin_init(
            pin_init!(Held {
                thread: channel.thread(),
                owner: watch.owner,
                go <- Waiters::new(),
                registers <- new_mutex!(shown, "ntrace registers"),
            }),
            GFP_KERNEL_ACCOUNT,
        );
        let Ok(held) = held else { return false };
        let event = Event::Held { time: time(), debuggee, thread: held.thread, reason: reason as u64, address: pc };
        if channel.hold(&held) && !watch.is_over() && channel.tell(&event).is_ok() {
            held.go.wait_killable(1);
        }
        channel.unhold(&held);
        let shown = held.registers.lock();
        if shown.changed {
            registers.assign(shown.get());
        }
        shown.step.is_some_and(|step| step.begin(watch, registers))
    }

    /// Whether it has not been let go.
    pub(crate) fn is_held(&self) -> bool {
        self.go.get() == 0
    }

    /// Where it goes on.
    pub(crate) fn pc(&self) -> u64 {
        Registers::pc_of(self.registers.lock().get())
    }

    /// Has it carry out one instruction.
    pub(crate) fn step(&self, step: Step) {
        self.registers.lock().step = Some(step);
        self.resume();
    }

    /// Lets it go.
    pub(crate) fn resume(&self) {
        self.go.set(1);
    }

    /// Its registers.
    pub(crate) fn registers(&self, to: &mut KVVec<u8>) -> Result<(), Failure> {
        let shown = self.registers.lock();
        to.extend_from_slice(shown.get(), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory.into())
    }

    /// Gives it other registers.
    pub(crate) fn set_registers(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut shown = self.registers.lock();
        if bytes.len() != shown.length {
            return Err(Failure::new(Status::Value, 1));
        }
        for (place, byte) in shown.bytes.iter_mut().zip(bytes) {
            *place = *byte;
        }
        shown.changed = true;
        Ok(())
    }
}

/// Fills in the registers of the thread that runs here; says how many bytes they are.
pub(crate) fn current(bytes: &mut [u8]) -> usize {
    // SAFETY: so many bytes are there.
    unsafe { ffi::ntrace_registers_get(bytes.as_mut_ptr().cast(), bytes.len()) }
}

/// Nanoseconds of the monotonic clock.
pub(crate) fn time() -> u64 {
    // SAFETY: it may be called anywhere.
    unsafe { kernel::bindings::ktime_get() as u64 }
}
