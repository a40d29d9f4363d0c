//! Decoding speed over the code of real programs.

mod iced;
mod liveness;
mod ours;
mod yaxpeax;
#[cfg(feature = "zydis")]
mod zydis;

use anyhow::{Result, anyhow, bail};

use crate::alone;
use crate::options::Options;
use crate::programs::{self, Code};
use crate::rounds::{self, Subject};
use crate::tally::Tally;

type Sweep = fn(&[u8], &mut Tally);
type OneShot = fn(&[u8], &[u32], &mut Tally);

const FLOW: &str = "ntrace, + flow, target";
const FULL: &str = "ntrace, + registers, flags";
const STARTS: &str = "ntrace, starts in batches";
/// How many times faster than iced-x86's lengths we aim to find starts.
const STARTS_AIM: f64 = 4.0;
/// How many times faster than iced-x86's InstructionInfo we aim to be.
const EFFECTS_AIM: f64 = 2.0;
/// How many times faster than iced-x86 with flow and target we aim to be.
const SWEEP_AIM: f64 = 1.8;
const ONE_SHOT_AIM: f64 = 3.5;

/// From the first byte to the last, each instruction where the one before it ended; one byte on where there is none.
const SWEEPS: &[(&str, Sweep)] = &[
    ("ntrace, length and validity", ours::length),
    (FLOW, ours::flow),
    (FULL, ours::full),
    (STARTS, ours::starts_in_batches),
    ("ntrace, the same without vectors", ours::starts_without),
    ("ntrace, branches in batches, per branch", ours::branches_in_batches),
    (iced::NAME, iced::length),
    (iced::FLOW, iced::flow),
    (iced::FULL, iced::full),
    ("yaxpeax-x86", yaxpeax::length),
    #[cfg(feature = "zydis")]
    ("Zydis, without operands", zydis::length),
    #[cfg(feature = "zydis")]
    ("Zydis, with operands", zydis::full),
];

/// One instruction at each address by a decoder that is made for it, as a debugger does at a stop.
const ONE_SHOTS: &[(&str, OneShot)] = &[
    (FLOW, ours::one_shot),
    (iced::NAME, iced::one_shot),
    (iced::FLOW, iced::one_shot_flow),
    ("yaxpeax-x86", yaxpeax::one_shot),
    #[cfg(feature = "zydis")]
    ("Zydis, without operands", zydis::one_shot),
];

/// Runs sweeps, one-shot decoding and questions of liveness.
pub(crate) fn run(options: &Options) -> Result<()> {
    let programs = programs::load(&options.program, crossing::programs::of_x86)?;
    if programs.is_empty() {
        bail!("none of the usual programs is installed: name some with --program");
    }
    for code in &programs {
        println!("{}: {} bytes of .text", code.path.display(), code.bytes.len());
    }
    println!("{}", alone::claim());
    let wanted = |name: &&str| options.only.as_deref().is_none_or(|only| name.contains(only));

    let sweeps = SWEEPS.iter().filter(|(name, _)| wanted(name));
    let mut subjects: Vec<Subject<'_>> = sweeps.map(|&(name, sweep)| sweep_subject(name, sweep, &programs)).collect();
    let measured = rounds::measure(&mut subjects, options.rounds);
    rounds::print("sweep, per instruction", iced::NAME, &measured);
    rounds::print_aim(FLOW, iced::FLOW, SWEEP_AIM, &measured);
    rounds::print_aim(FULL, iced::FULL, EFFECTS_AIM, &measured);
    rounds::print_aim(STARTS, iced::NAME, STARTS_AIM, &measured);
    let bytes = programs.iter().map(|code| code.bytes.len() as u64).sum();
    rounds::print_rate(STARTS, bytes, &measured);

    let in_order: Vec<Vec<u32>> = programs.iter().map(|code| iced::starts(&code.bytes)).collect();
    let scattered: Vec<Vec<u32>> = in_order.iter().map(|starts| scattered(starts)).collect();
    for (title, starts) in [("one-shot in order", &in_order), ("one-shot at scattered addresses", &scattered)] {
        let one_shots = ONE_SHOTS.iter().filter(|(name, _)| wanted(name));
        let mut subjects: Vec<Subject<'_>> =
            one_shots.map(|&(name, one_shot)| one_shot_subject(name, one_shot, &programs, starts)).collect();
        let measured = rounds::measure(&mut subjects, options.rounds);
        rounds::print(title, iced::NAME, &measured);
        rounds::print_aim(FLOW, iced::FLOW, ONE_SHOT_AIM, &measured);
    }

    let functions = programs.iter().map(|code| crossing::programs::functions(&code.path));
    let functions: Vec<Vec<usize>> = functions.collect::<Result<_, _>>().map_err(|error| anyhow!(error))?;
    // Of a program that exports functions; the C library is the first of the usual ones.
    if let Some((code, functions)) = programs.iter().zip(&functions).find(|(_, functions)| !functions.is_empty()) {
        let measured = rounds::measure(&mut liveness::subjects(code, functions, wanted), 100 * options.rounds);
        rounds::print("what is dead where exported functions begin", liveness::FLAGS, &measured);
    }
    Ok(())
}

fn sweep_subject<'a>(name: &'static str, sweep: Sweep, programs: &'a [Code]) -> Subject<'a> {
    Subject::new(name, move || {
        let mut tally = Tally::default();
        for code in programs {
            sweep(&code.bytes, &mut tally);
        }
        std::hint::black_box(tally.sum);
        tally.instructions
    })
}

fn one_shot_subject<'a>(
    name: &'static str,
    one_shot: OneShot,
    programs: &'a [Code],
    starts: &'a [Vec<u32>],
) -> Subject<'a> {
    Subject::new(name, move || {
        let mut tally = Tally::default();
        for (code, starts) in programs.iter().zip(starts) {
            one_shot(&code.bytes, starts, &mut tally);
        }
        std::hint::black_box(tally.sum);
        tally.instructions
    })
}

/// Every eighth start, in an order that no sweep has: the code's own cache misses weigh on all decoders alike.
fn scattered(starts: &[u32]) -> Vec<u32> {
    let mut chosen: Vec<u32> = starts.iter().copied().step_by(8).collect();
    // A fixed seed: all subjects and all runs see the same order.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for end in (1..chosen.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        chosen.swap(end, (state % (end as u64 + 1)) as usize);
    }
    chosen
}
