//! Counts the instructions of the C library before which a probe may overwrite a general register or the flags without saving them:
//! `dead_registers_of_libc [INSTRUCTIONS]`.

use std::error::Error;
use std::io::{self, Write};

use insn::x86::{Flags, Mode, Reg, dead, decode};

/// The code of the C library that this process has mapped.
fn library() -> Result<Vec<u8>, Box<dyn Error>> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let line =
        maps.lines().find(|line| line.contains("libc.so") && line.contains("r-xp")).ok_or("no C library is mapped")?;
    let mut fields = line.split_whitespace();
    let (start, end) = fields.next().and_then(|range| range.split_once('-')).ok_or("no range")?;
    let (start, end) = (u64::from_str_radix(start, 16)?, u64::from_str_radix(end, 16)?);
    let offset = usize::from_str_radix(fields.nth(1).ok_or("no offset")?, 16)?;
    let path = fields.nth(2).ok_or("no path")?;
    let file = std::fs::read(path)?;
    let length = usize::try_from(end - start)?.min(file.len().saturating_sub(offset));
    Ok(file.get(offset..).unwrap_or_default().get(..length).unwrap_or_default().to_vec())
}

/// Scans the first instructions and writes the registers that it found.
pub(crate) fn run(most: usize, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let code = library()?;
    // Compiled code: the vendor does not matter.
    let mode = Mode::INTEL_64;
    let general: Vec<Reg> = (0..16).map(Reg::gpr).collect();
    let (mut offset, mut seen, mut with_register, mut with_flags) = (0, 0u64, 0u64, 0u64);
    while offset < code.len() && seen < most as u64 {
        // Padding may hold bytes that are no instruction.
        let Ok(insn) = decode(&code[offset..], mode) else {
            offset += 1;
            continue;
        };
        let dead = dead(&code, offset, mode);
        seen += 1;
        with_register += u64::from(general.iter().any(|reg| dead.registers.contains(*reg)));
        with_flags += u64::from(dead.flags.contains(Flags::STATUS));
        offset += insn.len();
    }
    writeln!(out, "{seen} instructions")?;
    writeln!(out, "{with_register} with a general register that nobody needs")?;
    writeln!(out, "{with_flags} with arithmetic flags that nobody needs")?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let most = std::env::args().nth(1).map_or(Ok(usize::MAX), |text| text.parse())?;
    run(most, &mut io::stdout())
}
