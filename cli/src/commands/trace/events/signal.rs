//! Signals.

use std::fmt;

use serde::Serialize;
use ubp::{Origin, SignalInfo};

/// A signal that is about to be delivered. The field names are the keys of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct Delivered {
    signal: String,
    /// `si_code` of sigaction(2).
    code: i32,
    /// `kernel`, `process`, `timer`, `fault`, `child`, `descriptor`, `seccomp` or `unknown`.
    origin: &'static str,
    /// The process that sent the signal, or the child whose state changed.
    sender: Option<i32>,
    /// The address of a fault.
    address: Option<String>,
}

impl Delivered {
    pub(super) fn new(info: &SignalInfo) -> Delivered {
        let (origin, sender, address) = match info.origin {
            Origin::Kernel => ("kernel", None, None),
            Origin::Process { pid, .. } => ("process", Some(pid.0), None),
            Origin::Timer { .. } => ("timer", None, None),
            Origin::Fault { address } => ("fault", None, Some(format!("{address}"))),
            Origin::Child { pid, .. } => ("child", Some(pid.0), None),
            Origin::Descriptor { .. } => ("descriptor", None, None),
            Origin::Seccomp { address, .. } => ("seccomp", None, Some(format!("{address}"))),
            _ => ("unknown", None, None),
        };
        Delivered { signal: info.signal.to_string(), code: info.code, origin, sender, address }
    }
}

impl fmt::Display for Delivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.signal)?;
        match (self.origin, self.sender, &self.address) {
            ("process", Some(sender), _) => write!(f, " from process {sender}"),
            ("child", Some(child), _) => write!(f, " about child {child}"),
            ("fault", _, Some(address)) => write!(f, " by a fault at {address}"),
            ("seccomp", _, Some(address)) => write!(f, " by seccomp at {address}"),
            ("timer" | "descriptor", ..) => write!(f, " from a {}", self.origin),
            _ => f.write_str(" from the kernel"),
        }
    }
}
