//! A64 in lockstep: an instruction run bare and through its plan, from the same state, by the processor that the test runs on.
#![cfg(target_arch = "aarch64")]

mod branches;
mod copies;
mod exclusive;
mod faults;
mod lab;
mod landing;
mod literals;
mod passing;
mod pointers;
mod state;
mod syscalls;

use std::io::Write;

use lab::Lab;
use state::State;

/// Says that a test cannot run here, for `cargo xtask test`; false.
fn skipped(test: &str, reason: &str) -> bool {
    let line = format!("SKIPPED {test}: {reason}\n");
    if let Some(path) = std::env::var_os("NTRACE_SKIPPED") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the file of what is skipped can be written");
    }
    print!("{line}");
    false
}

/// Runs the words bare and through their plan at every kind of slot, from some states. `prepare` makes a state fit.
fn same(words: &[u32], prepare: impl Fn(&mut State, &Lab)) {
    same_in(&mut Lab::new(false), words, prepare);
}

fn same_in(lab: &mut Lab, words: &[u32], prepare: impl Fn(&mut State, &Lab)) {
    for &word in words {
        for seed in 1..4 {
            let mut state = State::random(seed, lab);
            prepare(&mut state, lab);
            lab.place(&[word]);
            let bare = lab.run(&state);
            for slot in lab.slots() {
                let passed = passing::pass(lab, word, slot, &state);
                let differences = passed.differences(&bare);
                assert!(differences.is_empty(), "{word:#010x} at {slot:#x}, state {seed}: {differences:#?}");
            }
        }
    }
}
