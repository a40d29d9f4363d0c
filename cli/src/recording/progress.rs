//! What a terminal shows while a program is recorded.

use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often it is brought up to date.
pub(super) const TICK: Duration = Duration::from_millis(200);

/// One line on standard error.
pub(super) struct Progress {
    bar: ProgressBar,
    begin: Instant,
}

impl Progress {
    pub(super) fn new() -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
            bar.set_style(style);
        }
        Progress { bar, begin: Instant::now() }
    }

    pub(super) fn show(&mut self, steps: u64, bytes: u64, threads: usize) {
        let rate = steps as f64 / self.begin.elapsed().as_secs_f64().max(0.001);
        let (steps, rate, bytes) = (HumanCount(steps), HumanCount(rate as u64), HumanBytes(bytes));
        self.bar.set_message(format!("{steps} instructions ({rate}/s), {bytes}, {threads} threads"));
        self.bar.tick();
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
