//! The names of system calls.

use ::syscalls::{aarch64, x86, x86_64};
use ubp::{Arch, Syscalls};

/// System calls by the numbers of each architecture whose programs this machine runs: a number is another call on another architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chosen([Syscalls; MACHINES.len()]);

impl Chosen {
    /// No system call.
    pub(crate) const NONE: Chosen = Chosen([Syscalls::NONE; MACHINES.len()]);
    /// All system calls.
    pub(crate) const ALL: Chosen = Chosen([Syscalls::ALL; MACHINES.len()]);

    /// The set with the calls of a name; `None` if no architecture has one.
    pub(crate) fn with_name(mut self, name: &str) -> Option<Chosen> {
        for (set, arch) in self.0.iter_mut().zip(MACHINES) {
            *set = number(*arch, name).into_iter().fold(*set, Syscalls::with);
        }
        let is_known = MACHINES.iter().any(|arch| number(*arch, name).is_some());
        is_known.then_some(self)
    }

    /// The set with the calls that have a number on any architecture.
    pub(crate) fn with_number(self, number: u64) -> Chosen {
        Chosen(self.0.map(|set| set.with(number)))
    }

    /// Whether the set contains a call.
    pub(crate) fn contains(&self, arch: Arch, number: u64) -> bool {
        MACHINES.iter().zip(&self.0).any(|(known, set)| *known == arch && set.contains(number))
    }

    /// The set for 64-bit programs of this machine.
    pub(crate) fn of_machine(&self) -> (Arch, Syscalls) {
        (MACHINES[0], self.0[0])
    }

    /// Whether the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(Syscalls::is_empty)
    }

    /// The numbers that are in the set on some architecture.
    pub(crate) fn numbers(&self) -> Syscalls {
        match *self == Chosen::ALL {
            true => Syscalls::ALL,
            false => (0..END).filter(|number| self.0.iter().any(|set| set.contains(*number))).collect(),
        }
    }
}

/// The name of a system call, by its number in the tables of an architecture. `None` for a number that no call has.
pub(crate) fn name(arch: Arch, number: u64) -> Option<&'static str> {
    let number = usize::try_from(number).ok()?;
    match arch {
        Arch::X86_64 => x86_64::Sysno::new(number).map(|call| call.name()),
        Arch::I386 => x86::Sysno::new(number).map(|call| call.name()),
        Arch::Arm64 => aarch64::Sysno::new(number).map(|call| call.name()),
        _ => None,
    }
}

/// The names of the system calls of each architecture whose programs this machine runs. A name may occur several times.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    MACHINES.iter().flat_map(|arch| (0..END).filter_map(|number| self::name(*arch, number)))
}

/// The architectures whose programs this machine runs.
#[cfg(target_arch = "x86_64")]
const MACHINES: &[Arch] = &[Arch::X86_64, Arch::I386];
/// The architectures whose programs this machine runs.
#[cfg(target_arch = "aarch64")]
const MACHINES: &[Arch] = &[Arch::Arm64];

/// A number that no system call has, and no later one: the kernel's tables are shorter.
pub(crate) const END: u64 = 1024;

fn number(arch: Arch, name: &str) -> Option<u64> {
    match arch {
        Arch::X86_64 => name.parse::<x86_64::Sysno>().ok().map(|call| call.id() as u64),
        Arch::I386 => name.parse::<x86::Sysno>().ok().map(|call| call.id() as u64),
        Arch::Arm64 => name.parse::<aarch64::Sysno>().ok().map(|call| call.id() as u64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use nix::libc;

    use super::*;

    #[test]
    fn names_and_numbers_are_those_of_the_systems_headers() {
        for (text, expected) in [
            ("read", libc::SYS_read),
            ("openat", libc::SYS_openat),
            ("exit_group", libc::SYS_exit_group),
            ("clone3", libc::SYS_clone3),
        ] {
            assert_eq!(name(MACHINES[0], expected as u64), Some(text));
            assert!(Chosen::NONE.with_name(text).unwrap().contains(MACHINES[0], expected as u64), "{text}");
        }
        assert_eq!((name(MACHINES[0], 1023), name(MACHINES[0], u64::MAX)), (None, None));
        assert_eq!(Chosen::NONE.with_name("no_such_call"), None);
        assert!(names().any(|name| name == "openat"));
    }

    #[test]
    fn a_call_is_chosen_by_the_number_of_its_own_architecture() {
        let chosen = Chosen::NONE.with_name("exit").unwrap();
        for arch in MACHINES {
            let wanted: Vec<_> = (0..END).filter(|number| chosen.contains(*arch, *number)).collect();
            assert_eq!(wanted, [number(*arch, "exit").unwrap()]);
            assert!(wanted.iter().all(|number| chosen.numbers().contains(*number)));
        }
        assert!(Chosen::NONE.with_number(7).contains(MACHINES[0], 7) && Chosen::NONE.is_empty());
        assert_eq!((Chosen::ALL.numbers(), Chosen::NONE.numbers()), (Syscalls::ALL, Syscalls::NONE));
    }
}
