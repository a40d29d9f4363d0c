//! What arm64 records otherwise.
#![cfg(all(target_os = "linux", target_arch = "aarch64"))]

mod common;
mod trace;

use std::collections::{HashMap, HashSet};
use std::process::{Command, Stdio};

use common::build;
use insn::Flow;
use insn::arm64::{Exclusive, Insn, Reg, decode};
use record::{EventKind, Item, Next, Options, Recorder, Registers, Step};
use trace::{check, items};

/// By asm-generic/unistd.h.
const RT_SIGRETURN: u64 = 139;

fn insn(step: &Step) -> Option<Insn> {
    decode(u32::from_le_bytes(*step.code.bytes().first_chunk()?)).ok()
}

fn record(options: Options) -> Vec<Item> {
    let program = build("odd", &["-static"]).expect("gcc builds it");
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut trace = Vec::new();
    crossing::on_one_processor(|| {
        let mut recorder = Recorder::spawn(command, options, &mut trace).unwrap();
        recorder.run().unwrap();
    });
    assert_eq!(check(&trace).0, [""; 0]);
    items(&trace)
}

#[test]
fn an_exclusive_sequence_is_run_as_a_whole_and_told_so() {
    let steps: Vec<Step> = record(Options::default())
        .into_iter()
        .filter_map(|item| if let Item::Step(step) = item { Some(step) } else { None })
        .collect();
    let is = |step: &Step, kind| insn(step).is_some_and(|insn| insn.exclusive() == Some(kind));
    let (mut whole, mut left, mut stepped) = (0, 0, 0);
    for (at, step) in steps.iter().enumerate().filter(|(_, step)| is(step, Exclusive::Load)) {
        let sequence: Vec<&Step> = steps[at..]
            .iter()
            .scan(true, |unseen, step| std::mem::replace(unseen, matches!(step.next, Next::Unseen(_))).then_some(step))
            .collect();
        let last = sequence.last().expect("the load itself");
        match is(last, Exclusive::Store) {
            true => whole += 1,
            false if sequence.len() > 1 => left += 1,
            false => stepped += 1,
        }
        assert!(step.tid == last.tid);
    }
    // Five sums, an exchange, a lock and a pair; an exchange that is given up; a load with clrex behind it.
    assert!(whole >= 8 && left >= 1 && stepped >= 1, "{whole} whole, {left} left, {stepped} stepped");
}

#[test]
fn registers_that_an_instruction_does_not_write_stay_as_they_were() {
    let mut last: HashMap<u32, (Registers, Insn)> = HashMap::new();
    let mut returning = HashSet::new();
    let mut unseen = false;
    let mut compared = 0;
    for item in record({
        let mut options = Options::default();
        options.registers = true;
        options
    }) {
        match item {
            Item::Step(step) => {
                let now = step.registers.expect("registers");
                let insn = insn(&step);
                if let Some((before, insn)) = last.remove(&step.tid) {
                    let writes = insn.writes();
                    for (number, (before, now)) in (0..31).zip(before.0.into_iter().zip(now.0)) {
                        let is_result = number == 0 && insn.flow() == Flow::Syscall;
                        let written = is_result || writes.contains(Reg::general(number));
                        assert!(written || before == now, "x{number} at {:#x}: {before:#x} {now:#x} {insn:?}", step.pc);
                    }
                    compared += 1;
                }
                // Those of an exclusive sequence are shown as they were before it.
                let in_sequence = std::mem::replace(&mut unseen, matches!(step.next, Next::Unseen(_)));
                let returns = returning.remove(&step.tid) || in_sequence;
                if let (Next::At(_), Some(insn), false) = (step.next, insn, returns) {
                    last.insert(step.tid, (now, insn));
                }
            }
            Item::Event(event) => match event.kind {
                EventKind::Syscall(RT_SIGRETURN) => drop(returning.insert(event.tid)),
                EventKind::Syscall(_) => {}
                _ => drop(last.remove(&event.tid)),
            },
            _ => {}
        }
    }
    assert!(compared > 10_000, "{compared}");
}
