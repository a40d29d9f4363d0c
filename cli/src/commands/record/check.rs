//! `ntrace record --check`.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

use record::{Checker, Machine, Mismatch};

use super::file::{failure, open};
use super::instruction;
use crate::disassembly::Disassembler;
use crate::failure::Result;
use crate::output::{Output, shown, tell};

/// Compares a recording with the decoder's reading of its bytes.
pub(super) fn run(file: &Path) -> Result<ExitCode> {
    let mut recording = open(file)?;
    let machine = recording.header().machine;
    let mut checker = Checker::new(recording.header());
    let mut out = Output::stdout();
    // A wrong instruction is wrong each time that it runs. Each case is printed once and counted.
    let mut wrong: HashMap<Mismatch, u64> = HashMap::new();
    for item in recording.by_ref() {
        let item = match item {
            Ok(item) => item,
            Err(error) if error.is_cut() => {
                tell(format_args!("{}: {error}; checked up to there", shown(file)));
                break;
            }
            Err(error) => return Err(failure(file, &error)),
        };
        let Some(mismatch) = checker.item(&item) else { continue };
        let times = wrong.entry(mismatch).or_insert(0);
        *times += 1;
        if *times == 1 {
            out.line(format_args!("{mismatch}{}", text(&mismatch, machine)))?;
            out.flush()?;
        }
    }
    let times: u64 = wrong.values().sum();
    let name = shown(file);
    let (checked, locations) = (checker.checked(), wrong.len());
    out.line(format_args!("{name}: {checked} instructions compared, {times} wrong, at {locations} places"))?;
    if checker.unreadable() > 0 {
        out.line(format_args!("{name}: {} instructions whose bytes could not be read", checker.unreadable()))?;
    }
    out.flush()?;
    Ok(ExitCode::from(u8::from(times > 0)))
}

/// The instruction's text by the decoder.
fn text(mismatch: &Mismatch, machine: Machine) -> String {
    let found = instruction::read(&mut Disassembler::new(), machine, mismatch.bits, mismatch.code.bytes(), mismatch.pc);
    found.and_then(|(_, text)| text).map_or_else(String::new, |text| format!(" ({text})"))
}
