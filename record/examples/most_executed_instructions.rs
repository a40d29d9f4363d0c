//! Lists the addresses of the instructions that a recorded program executed most often: `most_executed_instructions TRACE`.
//!
//! `ntrace record -o TRACE -- PROGRAM` makes a trace.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};

use record::{Item, Reader};

/// Reads a trace and writes the `count` most frequent addresses.
pub(crate) fn run(trace: impl Read, count: usize, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut executed: HashMap<u64, u64> = HashMap::new();
    let mut reader = Reader::new(trace)?;
    for item in &mut reader {
        if let Item::Step(step) = item? {
            *executed.entry(step.pc).or_default() += 1;
        }
    }
    let mut executed: Vec<_> = executed.into_iter().collect();
    executed.sort_by_key(|(pc, times)| (u64::MAX - times, *pc));
    for (pc, times) in executed.iter().take(count) {
        writeln!(out, "{times:>9} {pc:#x}")?;
    }
    writeln!(out, "{} instructions at {} addresses", reader.steps(), executed.len())?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: most_executed_instructions TRACE")?;
    run(BufReader::new(File::open(path)?), 20, &mut io::stdout())
}
