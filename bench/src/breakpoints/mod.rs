//! The cost of a hit, and of inserting and removing a hundred thousand breakpoints.

mod debuggee;
mod lift;
mod ours;
mod peers;
mod step;
mod uprobe;

use anyhow::Result;
use crossing::on_one_processor;

use crate::options::Options;
use debuggee::{FIELD, SITES};

/// The method's name, its hits per round, and the function that measures them.
type Method = (&'static str, u64, fn(usize, u64) -> Result<u64>);

const METHODS: &[Method] = &[
    ("unprobed", 20_000_000, ours::unprobed),
    #[cfg(target_arch = "x86_64")]
    ("ntrace, count by a jump", 5_000_000, ours::jumps),
    ("ntrace, count", 20_000, ours::hits),
    ("ptrace: lift, step, put back", 4_000, lift::hits),
    ("uprobe, count", 20_000, uprobe::hits),
    ("gdb, ignore", 1_000, peers::gdb),
];

/// The subject to which the ratios are.
const BASE: &str = "ptrace: lift, step, put back";

/// Tracer and debuggee are kept on one processor.
const ONE: &str = ", on one processor";

/// Runs the debuggee if the program was started as one.
pub(crate) fn as_debuggee() -> Option<Result<()>> {
    let wanted = std::env::args().nth(1).is_some_and(|argument| argument == debuggee::ARGUMENT);
    wanted.then(debuggee::main)
}

/// Runs the benchmark.
pub(crate) fn run(options: &Options) -> Result<()> {
    let rounds = options.rounds.max(1);
    let wanted = |name: &str| options.only.as_deref().is_none_or(|only| name.contains(only));
    for (site, (place, name)) in
        SITES.iter().enumerate().flat_map(|(site, name)| [(site, ("", name)), (site, (ONE, name))])
    {
        let methods: Vec<&Method> = METHODS.iter().filter(|(name, ..)| wanted(name)).collect();
        let mut times: Vec<Vec<Result<f64>>> = methods.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            for ((_, count, measure), times) in methods.iter().zip(&mut times) {
                let time =
                    if place == ONE { on_one_processor(|| measure(site, *count)) } else { measure(site, *count) };
                times.push(time.map(|time| time as f64 / *count as f64));
            }
        }
        let medians: Vec<Result<f64>> = times.into_iter().map(median).collect();
        let base = methods.iter().zip(&medians).find(|((name, ..), _)| *name == BASE);
        let base = base.and_then(|(_, time)| time.as_ref().ok());
        println!("\n{:<44}{:>10}{:>12}", format!("hit of `{name}`{place}"), "ns", "× lifting");
        for ((method, ..), median) in methods.iter().zip(&medians) {
            match median {
                Ok(time) => {
                    let ratio = base.map_or_else(String::new, |base| format!("{:.2}", base / time));
                    println!("{method:<44}{time:>10.1}{ratio:>12}");
                }
                Err(error) => println!("{method:<44}   SKIPPED: {error:#}"),
            }
        }
    }
    steps(rounds)?;
    let mut inserting = Vec::new();
    let mut removing = Vec::new();
    for _ in 0..rounds {
        let (inserted, removed) = ours::insert_and_remove()?;
        inserting.push(Ok(inserted.as_secs_f64() * 1e3));
        removing.push(Ok(removed.as_secs_f64() * 1e3));
    }
    println!("\n{FIELD} breakpoints: inserted in {:.1} ms, removed in {:.1} ms", median(inserting)?, median(removing)?);
    Ok(())
}

/// Compares steps of a held thread with the kernel's.
fn steps(rounds: usize) -> Result<()> {
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(step::ours());
        raw.push(step::raw());
    }
    let (ours, raw) = (median(ours)?, median(raw)?);
    println!("\n{:<44}{:>10}{:>16}", "step of a held thread", "ns", "of the kernel's");
    println!("{:<44}{ours:>10.0}{:>16.2}", "ntrace, step", ours / raw);
    println!("{:<44}{raw:>10.0}{:>16.2}", "ptrace: PTRACE_SINGLESTEP, waitpid", 1.0);
    Ok(())
}

/// The median, or the first error.
fn median(times: Vec<Result<f64>>) -> Result<f64> {
    let mut times = times.into_iter().collect::<Result<Vec<f64>>>()?;
    times.sort_unstable_by(f64::total_cmp);
    Ok(times.get(times.len() / 2).copied().unwrap_or_default())
}
