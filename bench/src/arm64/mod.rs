//! A64 decoding speed over the code of real programs.

#[cfg(feature = "bad64")]
mod bad64;
mod capstone;
mod disarm64;
mod ours;
mod yaxpeax;

use anyhow::Result;

use crate::alone;
use crate::options::Options;
use crate::programs;
use crate::rounds::{self, Subject};
use crate::tally::Tally;

type Sweep = fn(&[u32]) -> Tally;

const YAXPEAX: &str = "yaxpeax-arm";
const REGISTERS: &str = "ntrace, + registers, flags";
/// How many times faster than yaxpeax-arm, which decodes operands, we aim to be with registers and flags.
const AIM: f64 = 1.5;
const SWEEPS: &[(&str, Sweep)] = &[
    ("ntrace, flow of allocated words", ours::flow_of_allocated),
    ("ntrace, the same, unrolled four times", ours::flow_of_four),
    ("ntrace, flow, target of allocated words", ours::target_of_allocated),
    ("ntrace, validity, flow", ours::validity),
    ("ntrace, validity, flow, target", ours::target),
    (REGISTERS, ours::registers),
    ("ntrace, + registers, flags, memory", ours::effects),
    (YAXPEAX, yaxpeax::decode),
    ("disarm64", disarm64::decode),
    #[cfg(feature = "bad64")]
    ("bad64", bad64::decode),
    ("capstone", capstone::decode),
];

/// Every word of every program, by every decoder.
pub(crate) fn run(options: &Options) -> Result<()> {
    let programs = programs::load(&options.program, crossing::programs::of_arm64)?;
    if programs.is_empty() {
        println!("no programs: `cargo xtask setup` brings some of arm64; or name some by --program");
        return Ok(());
    }
    println!("{}", alone::claim());
    let mut words: Vec<Vec<u32>> = Vec::new();
    for code in &programs {
        println!("{}: {} bytes of .text", code.path.display(), code.bytes.len());
        words.push(code.bytes.chunks_exact(4).map(|word| word.try_into().map_or(0, u32::from_le_bytes)).collect());
    }
    let wanted = SWEEPS.iter().filter(|(name, _)| options.only.as_deref().is_none_or(|only| name.contains(only)));
    let mut subjects: Vec<Subject<'_>> = wanted
        .map(|&(name, sweep)| {
            let words = &words;
            Subject::new(name, move || {
                let mut tally = Tally::default();
                for program in words {
                    tally.merge(sweep(program));
                }
                std::hint::black_box(tally.sum);
                tally.instructions
            })
        })
        .collect();
    let measured = rounds::measure(&mut subjects, options.rounds);
    rounds::print("sweep, per word", YAXPEAX, &measured);
    rounds::print_aim(REGISTERS, YAXPEAX, AIM, &measured);
    Ok(())
}
