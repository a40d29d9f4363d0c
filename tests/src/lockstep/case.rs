//! What a test asks for, and what it is told.

use super::program::Layout;
use super::state::State;

/// Where the slot lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Within ±2 GiB of the site.
    Near,
    /// Out of reach of 32-bit distances.
    Far,
}

/// How a plan let a thread pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// Emulated to the end.
    Emulated,
    /// Met a fault in emulation and raised it by a step of the copy.
    EmulatedFault,
    /// Ran the copy, which led back by itself or faulted.
    Boosted,
    /// Ran the copy and trapped behind it.
    Trapped,
    /// Stepped the copy.
    Stepped,
}

/// Which of the ways that a plan allows to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Via {
    /// Where the slot lies.
    pub placement: Placement,
    /// Whether to single-step a slot that jumps back by itself, as when a signal waits for the thread.
    pub step: bool,
    /// What could be emulated goes through a slot that does all of it, where there is one.
    pub alone: bool,
}

/// A program with one probed instruction.
pub struct Case<'a> {
    pub(super) name: String,
    before: Vec<String>,
    probed: Vec<u8>,
    text: String,
    after: Vec<String>,
    elsewhere: Vec<(u64, Vec<String>)>,
    pub(super) setup: Box<dyn Fn(&mut State) + 'a>,
    pub(super) forwarded: Vec<i32>,
    pub(super) seeds: u64,
}

impl<'a> Case<'a> {
    /// A program of the instruction `probed` alone, written as [`Layout::instruction`] says; `int3` is all around it.
    pub fn new(name: &str, probed: &str) -> Case<'a> {
        Case {
            name: name.to_owned(),
            before: Vec::new(),
            probed: Vec::new(),
            text: probed.to_owned(),
            after: Vec::new(),
            elsewhere: Vec::new(),
            setup: Box::new(|_| ()),
            forwarded: Vec::new(),
            seeds: 4,
        }
    }

    /// A program of the one instruction with these bytes.
    pub fn bytes(name: &str, probed: &[u8]) -> Case<'a> {
        Case { probed: probed.to_vec(), ..Case::new(name, "") }
    }

    /// Instructions that run before the probed one.
    #[must_use]
    pub fn before(mut self, instructions: &[&str]) -> Case<'a> {
        self.before.extend(instructions.iter().map(|text| (*text).to_owned()));
        self
    }

    /// Instructions that stand behind the probed one.
    #[must_use]
    pub fn after(mut self, instructions: &[&str]) -> Case<'a> {
        self.after.extend(instructions.iter().map(|text| (*text).to_owned()));
        self
    }

    /// Instructions at another offset in the code window.
    #[must_use]
    pub fn at(mut self, offset: u64, instructions: &[&str]) -> Case<'a> {
        self.elsewhere.push((offset, instructions.iter().map(|text| (*text).to_owned()).collect()));
        self
    }

    /// Changes the random state that the program starts from.
    #[must_use]
    pub fn with(self, setup: impl Fn(&mut State) + 'a) -> Case<'a> {
        let first = self.setup;
        Case {
            setup: Box::new(move |state| {
                first(state);
                setup(state);
            }),
            ..self
        }
    }

    /// Delivers this signal to the program; all others end the run.
    #[must_use]
    pub fn forwarding(mut self, signal: i32) -> Case<'a> {
        self.forwarded.push(signal);
        self
    }

    /// How many random states the program runs from; 4 unless told.
    #[must_use]
    pub fn seeds(self, seeds: u64) -> Case<'a> {
        Case { seeds, ..self }
    }

    /// All instructions of the program with their addresses.
    pub(super) fn assemble(&self, layout: &Layout) -> Vec<(u64, Vec<u8>)> {
        let site = layout.site();
        let mut out = Vec::new();
        let mut pc = site - self.length(layout);
        for text in &self.before {
            let bytes = layout.instruction(text, pc);
            pc += bytes.len() as u64;
            out.push((pc - bytes.len() as u64, bytes));
        }
        let probed = if self.probed.is_empty() { layout.instruction(&self.text, site) } else { self.probed.clone() };
        pc += probed.len() as u64;
        out.push((site, probed));
        let elsewhere = self.elsewhere.iter().map(|(offset, texts)| (layout.code + offset, texts));
        for (mut pc, texts) in [(pc, &self.after)].into_iter().chain(elsewhere) {
            for text in texts {
                let bytes = layout.instruction(text, pc);
                pc += bytes.len() as u64;
                out.push((pc - bytes.len() as u64, bytes));
            }
        }
        out
    }

    /// Bytes before the site.
    pub(super) fn length(&self, layout: &Layout) -> u64 {
        self.before.iter().map(|text| layout.instruction(text, layout.site()).len() as u64).sum()
    }
}

/// The result of a comparison.
#[derive(Clone, Debug)]
pub struct Check {
    /// The case.
    pub name: String,
    /// How the last hit of each run was passed, near and far by turns.
    pub ways: Vec<(Placement, Way)>,
    /// Signal at the end of the last run in place, 0 where the program ended.
    pub signal: i32,
    /// Whether QEMU ran it, whose answers differ from a processor's.
    pub is_emulated: bool,
}

impl Check {
    /// Asserts that every run with the slot there passed this way.
    ///
    /// # Panics
    /// Where one did not.
    pub fn passed(&self, placement: Placement, way: Way) -> &Check {
        for (at, found) in &self.ways {
            let is_so = *at != placement || *found == way || self.is_emulated;
            assert!(is_so, "{}: {placement:?} slot: {found:?}, wanted {way:?}", self.name);
        }
        self
    }

    /// Asserts that every run passed this way.
    ///
    /// # Panics
    /// Where one did not.
    pub fn all(&self, way: Way) -> &Check {
        self.passed(Placement::Near, way).passed(Placement::Far, way)
    }

    /// Asserts what signal ended the run in place: that the case tests what it means to.
    ///
    /// # Panics
    /// Where another did.
    pub fn ended(&self, signal: i32) -> &Check {
        let is_so = self.signal == signal || self.is_emulated;
        assert!(is_so, "{}: the run in place ended with {}, wanted {signal}", self.name, self.signal);
        self
    }
}
