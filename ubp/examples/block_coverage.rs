//! Tells which basic blocks of a program are executed, by a one-shot breakpoint on each: `block_coverage PROGRAM [ARGS…]`.
//!
//! A block that was executed has no breakpoint any more, so that a loop runs at full speed after its first round.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{self, Write};
use std::process::Command;

use insn::{Flow, Target};
use ubp::arch::{Mode, decode, length};
use ubp::{Address, EventKind, Options, Session, Spec};

#[cfg(target_arch = "aarch64")]
const MODE: Mode = Mode;
#[cfg(target_arch = "x86_64")]
const MODE: Mode = Mode::INTEL_64;

/// The address in the file, offset and size of each section with code (elf(5)) of a 64-bit program.
fn code_sections(file: &[u8]) -> Option<Vec<(u64, &[u8])>> {
    const EXECUTABLE: u64 = 4;
    let word = |at: usize, size: usize| {
        let bytes = file.get(at..at + size)?;
        Some(bytes.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte)))
    };
    let (table, size, count) = (word(0x28, 8)?, word(0x3a, 2)?, word(0x3c, 2)?);
    let headers = (0..count).map(|number| (table + number * size) as usize);
    let code = headers.filter(|&at| word(at + 8, 8).is_some_and(|flags| flags & EXECUTABLE != 0));
    code.map(|at| {
        let (address, offset, size) = (word(at + 16, 8)?, word(at + 24, 8)? as usize, word(at + 32, 8)? as usize);
        Some((address, file.get(offset..offset + size)?))
    })
    .collect()
}

/// The addresses at which blocks begin: targets of branches, and what follows a branch.
fn blocks(sections: &[(u64, &[u8])]) -> BTreeSet<u64> {
    let (mut begins, mut instructions) = (BTreeSet::new(), BTreeSet::new());
    for &(start, code) in sections {
        let (mut at, mut begins_here) = (0, true);
        while let Some(Ok(insn)) = code.get(at..).filter(|rest| !rest.is_empty()).map(|rest| decode(rest, MODE)) {
            let pc = start + at as u64;
            instructions.insert(pc);
            if begins_here {
                begins.insert(pc);
            }
            begins_here = insn.flow() != Flow::Next;
            if let (Target::Relative(_), Some(target)) = (insn.target(), insn.target_address(pc)) {
                begins.insert(target);
            }
            at += length(&insn);
        }
    }
    begins.retain(|at| instructions.contains(at));
    begins
}

/// Runs a program and returns the number of its blocks, and of those that were executed.
pub(crate) fn run(command: Command, out: &mut impl Write) -> Result<(usize, usize), Box<dyn Error>> {
    let mut options = Options::default();
    options.signals = false;
    options.threads = false;
    let mut session = Session::with_options(options)?;
    let pid = session.spawn(command)?;
    let process = session.process(pid).ok_or("the program is gone")?;
    let path = process.executable().to_path_buf();
    let maps = process.maps()?;
    let first = maps.iter().find(|map| map.path.as_deref() == Some(&path)).ok_or("the program is not mapped")?;
    let file = std::fs::read(&path)?;
    let base = if file.get(16) == Some(&3) { first.start.0 - first.offset } else { 0 };
    let all = blocks(&code_sections(&file).ok_or("not a program")?);
    let specs: Vec<Spec> = all.iter().map(|at| Spec::count(Address(base + at)).once()).collect();
    let refused = session.insert(pid, &specs)?.iter().filter(|answer| answer.is_err()).count();
    session.resume(pid.leader())?;
    let mut executed = 0;
    while let Some(event) = session.wait()? {
        match event.kind {
            EventKind::Exited(_) | EventKind::Killed(_) if event.pid == pid => {
                executed = session.breakpoints(pid).filter(|block| block.hits() > 0).count();
            }
            EventKind::Forked { child } => session.resume(child.leader())?,
            _ => {}
        }
        if event.is_held() {
            session.resume(event.tid)?;
        }
    }
    writeln!(out, "{executed} of {} blocks were executed; {refused} can have no breakpoint", all.len())?;
    Ok((all.len(), executed))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let mut command = Command::new(args.next().ok_or("usage: block_coverage PROGRAM [ARGS…]")?);
    command.args(args);
    run(command, &mut io::stderr()).map(drop)
}
