//! What a command wants to see of a program beside hits.

use ubp::rules::{Action, Kind, Rule};
use ubp::{Buffer, Mechanism, Options, Syscalls, WhenFull};

use crate::failure::{Failure, Result};
use crate::location::Watch;
use crate::rules::RuleFile;

/// The events that a command wants beside hits.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    /// System calls.
    pub(crate) syscalls: Syscalls,
    /// Signals.
    pub(crate) signals: bool,
    /// Begin and end of threads.
    pub(crate) threads: bool,
    /// Memory to watch.
    pub(crate) watches: Vec<Watch>,
    /// The rules of a file.
    pub(crate) rules: Option<RuleFile>,
    /// Whether the command makes sense without a location.
    pub(crate) alone: bool,
    /// The memory in which code records hits.
    pub(crate) buffer: Buffer,
}

impl Observed {
    /// No events beside hits.
    pub(crate) const NONE: Observed = Observed {
        syscalls: Syscalls::NONE,
        signals: false,
        threads: false,
        watches: Vec::new(),
        rules: None,
        alone: false,
        buffer: Buffer { when_full: WhenFull::Wait, records: 1 << 14, stack: 0 },
    };

    /// The options of the session that follows a program.
    pub(super) fn options(&self, follow_forks: bool) -> Options {
        let mut options = Options::default();
        options.follow_forks = follow_forks;
        options.syscalls = self.syscalls;
        options.signals = self.signals;
        options.threads = self.threads;
        options.told_only = self.rules.is_none() && (self.signals || !self.syscalls.is_empty());
        options.buffer = self.buffer;
        if let Some(file) = &self.rules {
            let needed = file.set.options(options);
            options.signals |= needed.signals;
            options.threads |= needed.threads;
        }
        options
    }

    /// The mechanism that reports the events, if the user asks for `asked`.
    ///
    /// # Errors
    /// The user asks for a mechanism that does not report them; the message says what it lacks.
    pub(super) fn mechanism(&self, asked: Mechanism) -> Result<Mechanism> {
        let watches = |rule: &Rule| rule.actions.iter().any(|action| matches!(action, Action::Watch { .. }));
        let rules_watch = self.rules.as_ref().is_some_and(|file| file.set.rules.iter().any(watches));
        let lacking = Kind::Watched.lacking(Mechanism::Kernel).filter(|_| !self.watches.is_empty() || rules_watch);
        match (asked, lacking) {
            // Rules hold threads, which costs less over ptrace (bench/RECORD.md).
            (Mechanism::Auto, _) if self.rules.is_some() => Ok(Mechanism::Ptrace),
            (_, None) => Ok(asked),
            (Mechanism::Kernel, Some(reason)) => {
                Err(Failure::usage(format!("--backend kernel: {reason}; --backend ptrace does")))
            }
            _ => Ok(Mechanism::Ptrace),
        }
    }
}
