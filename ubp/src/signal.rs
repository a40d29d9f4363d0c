use std::fmt;

/// A signal, by its number (signal(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signal(pub i32);

/// Names of the standard signals on x86 and arm64, by number (signal(7)).
const NAMES: [&str; 32] = [
    "",
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

impl Signal {
    /// The number of the last signal (`SIGRTMAX` of the kernel).
    pub(crate) const LAST: i32 = 64;

    /// Whether there is such a signal.
    pub(crate) fn exists(self) -> bool {
        self.bit() != 0
    }

    /// The signal's bit in a signal set, as in /proc/PID/status.
    pub(crate) fn bit(self) -> u64 {
        match self.0 {
            1..=Signal::LAST => 1 << (self.0 - 1),
            _ => 0,
        }
    }

    /// Whether the default action is to do nothing (signal(7); `SIGCONT` continues, which the kernel does when it is sent).
    pub(crate) fn ignored_by_default(self) -> bool {
        matches!(self.0, libc::SIGCHLD | libc::SIGCONT | libc::SIGURG | libc::SIGWINCH)
    }

    /// Whether the default action is to stop the process.
    pub(crate) fn stops_by_default(self) -> bool {
        matches!(self.0, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match usize::try_from(self.0).ok().and_then(|n| NAMES.get(n)) {
            Some(name) if !name.is_empty() => f.write_str(name),
            _ if self.0 >= 32 && self.0 <= 64 => write!(f, "SIGRT{}", self.0),
            _ => write!(f, "signal {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_named_as_the_systems_headers_number_them() {
        let numbers =
            [libc::SIGHUP, libc::SIGTRAP, libc::SIGKILL, libc::SIGUSR2, libc::SIGCHLD, libc::SIGURG, libc::SIGSYS];
        let names = numbers.map(|number| Signal(number).to_string());
        assert_eq!(names, ["SIGHUP", "SIGTRAP", "SIGKILL", "SIGUSR2", "SIGCHLD", "SIGURG", "SIGSYS"]);
        assert_eq!([0, 34, 65].map(|number| Signal(number).to_string()), ["signal 0", "SIGRT34", "signal 65"]);
    }
}
