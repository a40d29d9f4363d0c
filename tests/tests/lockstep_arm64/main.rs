//! A64 in lockstep: an instruction run bare and through its plan, from the same state, by the processor that the test runs on; and with a
//! breakpoint of the kernel module's where that is loaded.
#![cfg(target_arch = "aarch64")]

mod branches;
mod copies;
mod effects;
mod exclusive;
mod faults;
mod lab;
mod landing;
mod literals;
mod module;
mod passing;
mod pointers;
mod state;
mod syscalls;

use crossing::module::Module;
use lab::Lab;
use module::attach_by_another;
use state::{State, Stop};

/// Runs the words bare and through their plan at every kind of slot, and past the module's breakpoint, from some states. `prepare` makes a state fit.
fn same(words: &[u32], prepare: impl Fn(&mut State, &Lab)) {
    same_in(&mut Lab::new(false), words, prepare);
}

fn same_in(lab: &mut Lab, words: &[u32], prepare: impl Fn(&mut State, &Lab)) {
    let mut module = Module::attach(lab.site(), attach_by_another).expect("a session of the module's");
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
            if let Some(passed) = past_module(lab, module.as_mut(), word, &state) {
                let differences = passed.differences(&bare);
                assert!(differences.is_empty(), "{word:#010x} by the module, state {seed}: {differences:#?}");
            }
        }
    }
}

/// How the word ends past a breakpoint of the module's. None where that is not loaded, or would have to single-step.
fn past_module(lab: &Lab, module: Option<&mut Module>, word: u32, state: &State) -> Option<Stop> {
    let module = module?;
    lab.place(&[word]);
    if !module.insert(lab.site()).expect("a breakpoint") {
        assert!(passing::is_stepped(word, lab.site()), "the module refuses {word:#010x}");
        return None;
    }
    let stop = lab.run(state);
    assert_ne!(module.remove(lab.site()), Ok(0), "{word:#010x} was never hit");
    Some(stop)
}
