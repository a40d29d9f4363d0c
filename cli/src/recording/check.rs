//! `ntrace record --check`.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use insn::x86::{Mode, Vendor, decode};
use record::{Checker, Mismatch};

use super::{failure, open};
use crate::disassembly::Disassembler;
use crate::failure::{Failure, Result, tell};

/// Compares a trace with what insn says of it.
pub(super) fn run(file: &Path) -> Result<ExitCode> {
    let mut trace = open(file)?;
    let vendor = trace.header().vendor;
    let mut checker = Checker::new(trace.header());
    let mut out = io::stdout().lock();
    // What goes wrong goes wrong each time that it is executed: each case is told once, and counted.
    let mut wrong: HashMap<Mismatch, u64> = HashMap::new();
    for item in trace.by_ref() {
        let item = match item {
            Ok(item) => item,
            Err(error) if error.is_cut() => {
                tell(format_args!("{}: {error}; checked so far", file.display()));
                break;
            }
            Err(error) => return Err(failure(file, &error)),
        };
        let Some(mismatch) = checker.item(&item) else { continue };
        let times = wrong.entry(mismatch).or_insert(0);
        *times += 1;
        if *times == 1 {
            writeln!(out, "{mismatch}{}", text(&mismatch, vendor)).map_err(output_failure)?;
        }
    }
    let times: u64 = wrong.values().sum();
    let name = file.display();
    writeln!(out, "{name}: {} instructions compared, {times} wrong, at {} places", checker.checked(), wrong.len())
        .map_err(output_failure)?;
    if checker.unreadable() > 0 {
        writeln!(out, "{name}: {} instructions whose bytes could not be read", checker.unreadable())
            .map_err(output_failure)?;
    }
    Ok(ExitCode::from(u8::from(times > 0)))
}

/// The instruction as the decoder reads it.
fn text(mismatch: &Mismatch, vendor: Vendor) -> String {
    let Some(bits) = mismatch.bits else { return String::new() };
    let mode = Mode::new(bits, vendor).lenient();
    let insn = decode(mismatch.code.bytes(), mode).ok();
    let text = insn.and_then(|insn| Disassembler::new().text(insn.bytes(), mismatch.pc, mode));
    text.map_or_else(String::new, |text| format!(" ({text})"))
}

fn output_failure(error: io::Error) -> Failure {
    Failure::own(format!("standard output: {error}"))
}
