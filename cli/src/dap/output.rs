//! What programs write to their standard output and standard error.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::json;

use super::adapter::Adapter;

/// The most reads of each pipe when a program ends.
const ROUNDS: usize = 64;

impl Adapter {
    /// Tells the client what programs wrote to the pipes for which `is_ready`, by their numbers.
    pub(super) fn take_output(&mut self, is_ready: impl Fn(usize) -> bool) {
        let mut told = Vec::new();
        let mut number = 0;
        self.pipes.retain_mut(|pipe| {
            let is_chosen = is_ready(number);
            number += 1;
            if !is_chosen {
                return true;
            }
            let text = pipe.read();
            told.extend(text.iter().filter(|text| !text.is_empty()).map(|text| (pipe.category, text.clone())));
            text.is_some()
        });
        for (category, output) in told {
            self.tell("output", json!({ "category": category, "output": output }));
        }
    }

    /// Tells the client what programs have written so far. A child that goes on writing does not keep this from ending.
    pub(super) fn drain_output(&mut self) {
        for _ in 0..ROUNDS {
            let mut waited: Vec<PollFd<'_>> =
                self.pipes.iter().map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)).collect();
            let found = poll(&mut waited, PollTimeout::ZERO).unwrap_or(0);
            let ready: Vec<bool> = waited.iter().map(|one| one.any().unwrap_or(false)).collect();
            if found == 0 {
                return;
            }
            self.take_output(|pipe| ready.get(pipe).copied().unwrap_or(false));
        }
    }
}
