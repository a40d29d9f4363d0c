//! `qSupported`: what the two sides understand.

use std::collections::BTreeSet;

use super::answer::Answer;
use super::{Mode, Server};
use crate::protocol::{MOST_BYTES, hex, signals};

/// What the client understands, and what it has chosen.
#[derive(Debug, Default)]
pub(super) struct Client {
    pub(super) fork_events: bool,
    pub(super) vfork_events: bool,
    pub(super) exec_events: bool,
    /// Errors in words.
    pub(super) words: bool,
    pub(super) thread_events: bool,
    /// Packets are not acknowledged.
    pub(super) is_reliable: bool,
    /// Signals that are delivered without the client.
    pub(super) passed: BTreeSet<i32>,
}

/// What this server understands, beside the size of packets.
const SUPPORTED: &str = "QStartNoAckMode+;multiprocess+;vContSupported+;swbreak+;hwbreak+;QNonStop+;QPassSignals+;QProgramSignals+;\
    ConditionalBreakpoints+;BreakpointCommands+;fork-events+;vfork-events+;exec-events+;QThreadEvents+;QCatchSyscalls+;no-resumed+;\
    QDisableRandomization+;QStartupWithShell+;QEnvironmentHexEncoded+;QEnvironmentReset+;QEnvironmentUnset+;QSetWorkingDir+;\
    qXfer:features:read+;qXfer:auxv:read+;qXfer:libraries-svr4:read+;qXfer:threads:read+;qXfer:siginfo:read+;qXfer:exec-file:read+;\
    error-message+;binary-upload+";

impl Server {
    pub(super) fn q_supported(&mut self, text: &[u8]) -> Answer {
        let features = text.strip_prefix(b":").unwrap_or_default();
        let has = |name: &[u8]| features.split(|&byte| byte == b';').any(|feature| feature == name);
        self.client = Client {
            fork_events: has(b"fork-events+"),
            vfork_events: has(b"vfork-events+"),
            exec_events: has(b"exec-events+"),
            words: has(b"error-message+"),
            is_reliable: self.client.is_reliable,
            ..Client::default()
        };
        Answer::text(format!("PacketSize={MOST_BYTES:x};{SUPPORTED}"))
    }

    pub(super) fn start_no_ack_mode(&mut self, _: &[u8]) -> Answer {
        self.client.is_reliable = true;
        Answer::Ok
    }

    pub(super) fn non_stop(&mut self, text: &[u8]) -> Answer {
        self.mode = match text {
            b"1" => Mode::NonStop { is_told: false },
            _ => {
                self.freeze();
                Mode::AllStop { is_running: false }
            }
        };
        Answer::Ok
    }

    pub(super) fn thread_events(&mut self, text: &[u8]) -> Answer {
        self.client.thread_events = text == b"1";
        Answer::Ok
    }

    pub(super) fn pass_signals(&mut self, text: &[u8]) -> Answer {
        let numbers = text.split(|&byte| byte == b';').filter_map(hex::number);
        self.client.passed = numbers.filter_map(signals::from_protocol).map(|signal| signal.0).collect();
        Answer::Ok
    }
}
