//! System calls of debuggees: which are reported, and what is reported of them.

use std::fmt;

use crate::Arch;

/// Numbers below this one can be chosen singly; the kernel's tables are shorter.
const NUMBERS: usize = 1024;
const WORDS: usize = NUMBERS / 64;

/// A set of system calls, by their numbers (asm/unistd.h of the architecture; i386's numbers in 32-bit programs).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Syscalls {
    bits: [u64; WORDS],
    /// All numbers, also those that no call has.
    all: bool,
}

impl Syscalls {
    /// No system call.
    pub const NONE: Syscalls = Syscalls { bits: [0; WORDS], all: false };
    /// All system calls, also numbers that no call has.
    pub const ALL: Syscalls = Syscalls { bits: [0; WORDS], all: true };

    /// The set with one more number; numbers from 1024 on are in [`Syscalls::ALL`] only.
    #[must_use]
    pub fn with(mut self, number: u64) -> Syscalls {
        if let Some(word) = self.bits.get_mut(number as usize / 64).filter(|_| number < NUMBERS as u64) {
            *word |= 1 << (number % 64);
        }
        self
    }

    /// The set with all numbers of another one.
    #[must_use]
    pub fn or(mut self, other: &Syscalls) -> Syscalls {
        self.bits.iter_mut().zip(other.bits).for_each(|(word, more)| *word |= more);
        self.all |= other.all;
        self
    }

    /// Whether the set contains a number.
    pub fn contains(&self, number: u64) -> bool {
        let word = || self.bits.get(usize::try_from(number / 64).ok()?);
        self.all || word().is_some_and(|word| word >> (number % 64) & 1 != 0)
    }

    /// The chosen numbers as bits, from the lowest of the first word on; `None` for all.
    pub(crate) fn words(&self) -> Option<[u64; WORDS]> {
        (!self.all).then_some(self.bits)
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        *self == Syscalls::NONE
    }
}

impl FromIterator<u64> for Syscalls {
    fn from_iter<T: IntoIterator<Item = u64>>(numbers: T) -> Syscalls {
        numbers.into_iter().fold(Syscalls::NONE, Syscalls::with)
    }
}

impl fmt::Debug for Syscalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.all {
            return f.write_str("ALL");
        }
        f.debug_set().entries((0..NUMBERS as u64).filter(|&number| self.contains(number))).finish()
    }
}

/// A system call that a thread is about to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Syscall {
    /// The number. A 64-bit x86 program may use i386's numbers by `int 0x80`: see `arch`.
    pub number: u64,
    /// The arguments, also those that the call does not take.
    pub arguments: [u64; 6],
    /// The architecture whose numbers and conventions the call follows.
    pub arch: Arch,
}

/// A system call that has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyscallReturn {
    /// The number.
    pub number: u64,
    /// The architecture whose numbers and conventions the call follows.
    pub arch: Arch,
    /// The result.
    pub result: SyscallResult,
}

/// The result of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyscallResult {
    /// The call returned this value.
    Value(u64),
    /// The call failed with this error number (errno(3)).
    Error(i32),
    /// A signal with a handler interrupted the call. It returns `EINTR`, or the kernel makes it once more, which is reported as
    /// a new call: the handler's flag `SA_RESTART` decides that, and some calls never restart (signal(7)).
    Interrupted,
}

impl SyscallResult {
    /// Results by which a call asks the kernel for its restart (include/linux/errno.h): ERESTARTSYS, ERESTARTNOINTR,
    /// ERESTARTNOHAND, ERESTART_RESTARTBLOCK.
    const RESTARTS: [i64; 4] = [-512, -513, -514, -516];

    /// The result as the kernel returns it.
    pub(crate) fn new(value: i64, is_error: bool) -> SyscallResult {
        match value {
            value if SyscallResult::RESTARTS.contains(&value) => SyscallResult::Interrupted,
            value if is_error => SyscallResult::Error(-value as i32),
            value => SyscallResult::Value(value as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_what_was_chosen() {
        let set: Syscalls = [0, 63, 64, 1023, 1024, u64::MAX].into_iter().collect();
        assert!([0, 63, 64, 1023].into_iter().all(|number| set.contains(number)));
        assert!([1, 62, 65, 1024, u64::MAX].into_iter().all(|number| !set.contains(number)));
        assert_eq!(format!("{set:?}"), "{0, 63, 64, 1023}");
        assert!(Syscalls::ALL.contains(u64::MAX) && !Syscalls::ALL.is_empty());
        assert!(Syscalls::NONE.is_empty() && !set.is_empty());
        let both = set.or(&Syscalls::NONE.with(7));
        assert!(both.contains(7) && both.contains(64) && !both.contains(8) && set.or(&Syscalls::ALL).contains(8));
    }

    #[test]
    fn results_are_values_errors_or_interruptions() {
        assert_eq!(SyscallResult::new(-2, true), SyscallResult::Error(2));
        assert_eq!(SyscallResult::new(3, false), SyscallResult::Value(3));
        assert_eq!(SyscallResult::new(-512, true), SyscallResult::Interrupted);
    }
}
