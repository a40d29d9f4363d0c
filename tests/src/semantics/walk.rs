//! Runs instructions of every form and counts what came of them.

use std::collections::BTreeMap;
use std::io::{Error, Result};

use insn::Flow;
use insn::x86::{Bits, Flags, Insn, Mode};
use stepping::x86::{Plan, plan};

use super::encode::encode;
use super::excess::Excess;
use super::extent::extents;
use super::perturb::{Run, outlives, unread_changed, unread_matters, unwritten};
use super::prepare::prepare;
use super::skeleton::{Skeleton, skeletons};
use super::variable::variable;
use crate::Random;
use crate::lockstep::{Ending, Lab, Placement, State, Stop, Via, Way, differences};

/// Opcode of `int1`.
const INT1: u8 = 0xf1;
/// How many wrong answers are described.
const EXAMPLES: usize = 40;

/// Instructions of a form in each turn where they are emulated: few are, and all of what they do is our doing.
const EMULATED: u32 = 8;

/// What a walk found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Opcode forms, and those without an instruction to run.
    pub forms: u64,
    /// Forms of which an instruction completed.
    pub forms_completed: u64,
    /// Instructions run.
    pub tried: u64,
    /// Those that completed, or branched to where the branch leads.
    pub executed: u64,
    /// Those that ended in a fault of another kind than #UD.
    pub faulted: u64,
    /// Those that are #UD on this processor.
    pub undefined: u64,
    /// Instructions for which there is no plan, by intent.
    pub refused: u64,
    /// Passages compared with the run in place, by way and placement.
    pub compared: BTreeMap<(&'static str, &'static str), u64>,
    /// Runs with everything changed that the instruction does not read.
    pub perturbed: u64,
    /// Passages that differed from the run in place.
    pub wrong: u64,
    /// Instructions whose sets of registers, flags and memory did not hold.
    pub wrong_sets: u64,
    /// What was reported as read or written and never seen to be.
    pub excess: Excess,
    /// Forms that the processor has and of which no instruction completed.
    pub only_faulting: Vec<Skeleton>,
    /// Descriptions of the first of both.
    pub examples: Vec<String>,
}

impl Report {
    /// The counts as `name=number` words. *wrong*: a passage that differs, or a set that does not hold.
    pub fn figures(&self) -> String {
        format!(
            "forms={} tried={} executed={} faulted={} undefined={} emulated={} boosted={} trapped={} stepped={} near={} far={} \
             changed={} wrong={}",
            self.forms,
            self.tried,
            self.executed,
            self.faulted,
            self.undefined,
            self.passages("emulated"),
            self.passages("boosted"),
            self.passages("trapped"),
            self.passages("stepped") + self.passages("faulted"),
            self.placed("near"),
            self.placed("far"),
            self.perturbed,
            self.wrong + self.wrong_sets
        )
    }

    fn placed(&self, placement: &str) -> u64 {
        self.compared.iter().filter(|((_, at), _)| *at == placement).map(|(_, count)| count).sum()
    }

    /// Passages by a way, near and far.
    pub fn passages(&self, way: &str) -> u64 {
        self.compared.iter().filter(|((name, _), _)| *name == way).map(|(_, count)| count).sum()
    }
}

/// A walk over all forms of a mode.
pub struct Walk {
    lab: Lab,
    mode: Mode,
    forms: Vec<Skeleton>,
    rng: Random,
    report: Report,
}

impl Walk {
    /// A walk in the lab's mode; equal seeds give equal instructions and states.
    pub fn new(lab: Lab, seed: u64) -> Walk {
        let mode = lab.mode();
        let forms = skeletons(mode);
        Walk { lab, mode, forms, rng: Random::new(seed), report: Report::default() }
    }

    /// Runs instructions of each form in turn, about `instructions` in all and one of each form.
    ///
    /// # Errors
    /// Where the traced child is lost.
    pub fn run(mut self, instructions: u64) -> Result<Report> {
        let forms = std::mem::take(&mut self.forms);
        let mut completed = vec![false; forms.len()];
        let mut exists = vec![false; forms.len()];
        self.report.forms = forms.len() as u64;
        while self.report.tried < instructions.max(forms.len() as u64 / 2) {
            for ((form, completed), exists) in forms.iter().zip(&mut completed).zip(&mut exists) {
                let layout = self.lab.layout();
                for turn in 0..EMULATED {
                    let Some(insn) = encode(form, self.mode, &layout, &mut self.rng) else { break };
                    let emulated = matches!(plan(&insn, layout.site()), Plan::Emulate(_));
                    if variable(&insn).is_some() || turn > 0 && !emulated {
                        break;
                    }
                    let undefined = self.report.undefined;
                    let done = self.instruction(form, &insn);
                    *completed |= done.map_err(|error| Error::new(error.kind(), format!("{insn:?}: {error}")))?;
                    *exists |= self.report.undefined == undefined;
                }
            }
        }
        let faulting =
            forms.iter().zip(completed.iter().zip(&exists)).filter(|(_, (done, exists))| !**done && **exists);
        self.report.only_faulting = faulting.map(|(form, _)| *form).collect();
        self.report.forms_completed = completed.iter().filter(|completed| **completed).count() as u64;
        Ok(self.report)
    }

    /// Runs one instruction in every way; whether it completed.
    fn instruction(&mut self, form: &Skeleton, insn: &Insn) -> Result<bool> {
        let mut state = self.lab.random_state(&mut self.rng);
        prepare(insn, &mut state, &mut self.rng);
        self.report.tried += 1;
        let end = self.lab.in_place(insn, &state)?;
        let ended = match end.stop {
            Stop::Signal { number: libc::SIGTRAP, .. } => &mut self.report.executed,
            Stop::Signal { number: libc::SIGILL, .. } => &mut self.report.undefined,
            _ => &mut self.report.faulted,
        };
        *ended += 1;
        self.passages(insn, &state, &end)?;
        if !matches!(end.stop, Stop::Signal { number: libc::SIGILL, .. }) {
            self.sets(form, insn, &state, &end)?;
        }
        Ok(matches!(end.stop, Stop::Signal { number: libc::SIGTRAP, .. }))
    }

    /// Every way that the plan allows.
    fn passages(&mut self, insn: &Insn, state: &State, end: &Ending) -> Result<()> {
        let plan = plan(insn, self.lab.layout().site());
        if matches!(plan, Plan::Refuse(_)) {
            self.report.refused += 1;
            return Ok(());
        }
        let undefined = matches!(end.stop, Stop::Signal { number: libc::SIGILL, .. });
        let mut vias = vec![Via { placement: Placement::Near, step: false, alone: false }];
        if !undefined {
            vias.push(Via { placement: Placement::Far, step: false, alone: false });
        }
        // `ubp` steps neither system calls, which let the trap go by, nor `iret`, of which the kernel takes the trap flag
        // for the program's own.
        // Nor could the trap of a program that steps itself be told from that of a step.
        let traps = state.regs.eflags & u64::from(Flags::TF.bits()) != 0;
        if matches!(plan, Plan::Slot(_))
            && !undefined
            && !traps
            && !matches!(insn.flow(), Flow::Syscall | Flow::Interrupt | Flow::Far)
        {
            let placement = self.rng.one_of(&[Placement::Near, Placement::Far]);
            vias.push(Via { placement, step: true, alone: false });
        }
        if !undefined && !traps && self.lab.has_whole_slot(insn) {
            vias.push(Via { placement: Placement::Near, step: false, alone: true });
        }
        for via in vias {
            let (mut found, mut way) = self.lab.through_plan(insn, state, via)?;
            // DR6 of a busy virtual machine may still have the step before, at an `int1` that no step has led to.
            if insn.opcode() == INT1 && is_other_trap(end, &found) {
                (found, way) = self.lab.through_plan(insn, state, via)?;
            }
            let way = match way {
                Way::Emulated => "emulated",
                Way::EmulatedFault => "faulted",
                Way::Boosted => "boosted",
                Way::Trapped => "trapped",
                Way::Stepped => "stepped",
            };
            let placement = if via.placement == Placement::Near { "near" } else { "far" };
            *self.report.compared.entry((way, placement)).or_default() += 1;
            let differences = differences(end, &found);
            if !differences.is_empty() {
                self.report.wrong += 1;
                self.example(&format!("{way} {placement}"), insn, end, &differences);
            }
        }
        Ok(())
    }

    /// What `insn` reports as read and written.
    fn sets(&mut self, form: &Skeleton, insn: &Insn, state: &State, end: &Ending) -> Result<()> {
        let effects = insn.effects();
        let extents = extents(insn, state);
        let first = Run { before: state, end };
        let mut wrong = unwritten(insn, &effects, &first, &extents);
        let other = unread_changed(insn, &effects, state, &extents, &mut self.rng);
        let other_end = self.lab.in_place(insn, &other)?;
        self.report.perturbed += 1;
        let second = Run { before: &other, end: &other_end };
        wrong.extend(unwritten(insn, &effects, &second, &extents));
        wrong.extend(unread_matters(insn, &effects, &first, &second));
        wrong.extend(outlives(&effects, &first, &second));
        if !wrong.is_empty() {
            self.report.wrong_sets += 1;
            self.example("sets", insn, end, &wrong);
        }
        let completed = matches!(end.stop, Stop::Signal { number: libc::SIGTRAP, .. });
        self.report.excess.note_size(form, state, &extents, completed);
        if !completed {
            return Ok(());
        }
        self.report.excess.note_written(form, insn, &effects, &first);
        self.report.excess.note_kept(form, insn, &effects, [&first, &second]);
        let wide = self.mode.bits == Bits::B64;
        if let Some(changed) = Excess::change(insn, &effects, state, wide, &mut self.rng) {
            let end = self.lab.in_place(insn, &changed.state)?;
            self.report.excess.note_read(form, &changed, &first, &Run { before: &changed.state, end: &end });
        }
        Ok(())
    }

    fn example(&mut self, what: &str, insn: &Insn, end: &Ending, differences: &[String]) {
        if self.report.examples.len() < EXAMPLES {
            let bytes: String = insn.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            let example = format!("{bytes} {what} {:?}\n  {}", end.stop, differences.join("\n  "));
            // At once: a long run is long.
            eprintln!("{example}");
            self.report.examples.push(example);
        }
    }
}

/// Whether two runs ended with a `SIGTRAP` at one place, of which the kernel gives different reasons.
fn is_other_trap(end: &Ending, found: &Ending) -> bool {
    let trap = |ending: &Ending| match ending.stop {
        Stop::Signal { number: libc::SIGTRAP, code, address } => Some((code, address)),
        _ => None,
    };
    trap(end).zip(trap(found)).is_some_and(|(end, found)| end.0 != found.0 && end.1 == found.1)
}
