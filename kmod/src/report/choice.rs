// SPDX-License-Identifier: GPL-2.0

//! Which system calls and signals of a process a session wants to know of.

use core::sync::atomic::{AtomicU64, Ordering};

use fastpath::arch::within;
use fastpath::chunks;
use wire::commands::reported;
use wire::{Failure, Status};

const WORDS: usize = reported::NUMBERS / 64;
/// In `what`, beside the bits of the command: all system calls are wanted.
const ALL_CALLS: u64 = 1 << 63;

/// What a session has chosen by `report`. Threads read it while it changes, and then find a part of the new choice.
pub(crate) struct Choice {
    /// Bits of `wire::commands::reported`, and `ALL_CALLS`.
    what: AtomicU64,
    /// The chosen system calls, by their numbers.
    calls: [AtomicU64; WORDS],
}

impl Choice {
    /// Nothing is chosen.
    pub(crate) const fn nothing() -> Choice {
        Choice { what: AtomicU64::new(0), calls: [const { AtomicU64::new(0) }; WORDS] }
    }

    /// Sets the choice to the fields of the command.
    pub(crate) fn set(&self, what: u64, calls: &[u8]) -> Result<(), Failure> {
        if what & !reported::ALL != 0 {
            return Err(Failure::new(Status::Value, 1));
        }
        let words = chunks(calls);
        if words.len() > WORDS || words.len() * 8 != calls.len() {
            return Err(Failure::new(Status::Value, 2));
        }
        for (number, to) in self.calls.iter().enumerate() {
            to.store(words.get(number).map_or(0, |word| u64::from_ne_bytes(*word)), Ordering::Relaxed);
        }
        let all = if calls.is_empty() { ALL_CALLS } else { 0 };
        self.what.store(what | all, Ordering::Release);
        Ok(())
    }

    /// Makes the same choice as for another process.
    pub(crate) fn copy(&self, other: &Choice) {
        for (to, from) in self.calls.iter().zip(&other.calls) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.what.store(other.what.load(Ordering::Acquire), Ordering::Release);
    }

    fn has(&self, bit: u64) -> bool {
        self.what.load(Ordering::Acquire) & bit != 0
    }

    /// Whether system calls are told of.
    pub(crate) fn has_syscalls(&self) -> bool {
        self.has(reported::SYSCALLS)
    }

    /// Whether signals are told of.
    pub(crate) fn has_signals(&self) -> bool {
        self.has(reported::SIGNALS)
    }

    /// Whether threads are held.
    pub(crate) fn holds(&self) -> bool {
        self.has(reported::HOLD)
    }

    /// Whether the system call with a number is told of. The kernel's numbers of calls that are none are negative.
    pub(crate) fn has_syscall(&self, number: u64) -> bool {
        let Ok(number) = usize::try_from(number as i64) else { return false };
        let is_chosen = || {
            // The program chooses the number.
            let word = (number / 64 < WORDS).then(|| within(number / 64, WORDS))?;
            Some(self.calls.get(word)?.load(Ordering::Relaxed) >> (number % 64) & 1 != 0)
        };
        self.has_syscalls() && (self.has(ALL_CALLS) || is_chosen().unwrap_or(false))
    }
}
