//! Counts the branches, calls and returns in the code of an executable: `branches_of_a_program [PROGRAM]`, without a program its own.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use insn::{Flow, arm64, x86};

/// Executable segments of a 64-bit ELF file (elf(5)).
fn code(file: &[u8]) -> Option<Vec<&[u8]>> {
    let number = |at: usize, size: usize| -> Option<usize> {
        Some(file.get(at..at + size)?.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    };
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (headers, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let mut found = Vec::new();
    for at in (0..count).map(|i| headers + i * size) {
        let (kind, flags, offset, length) =
            (number(at, 4)?, number(at + 4, 4)?, number(at + 8, 8)?, number(at + 32, 8)?);
        // PT_LOAD with PF_X.
        if kind == 1 && flags & 1 != 0 {
            found.push(file.get(offset..offset + length)?);
        }
    }
    Some(found)
}

/// Writes how many instructions of each flow a program has.
pub(crate) fn run(program: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let file = std::fs::read(program)?;
    let segments = code(&file).ok_or("not a 64-bit ELF file")?;
    let is_arm64 = file.get(18..20) == Some(&[183, 0]);
    let mut flows: BTreeMap<String, u64> = BTreeMap::new();
    let mut count = |flow: Flow| *flows.entry(format!("{flow:?}")).or_default() += 1;
    for segment in segments {
        let mut rest = segment;
        while !rest.is_empty() {
            // Padding and data between functions may not be instructions: skip a byte, or a word.
            let length = if is_arm64 {
                let word = rest.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
                if let Ok(insn) = arm64::decode(word) {
                    count(insn.flow());
                }
                arm64::LEN
            } else {
                match x86::decode(rest, x86::Mode::AMD_64) {
                    Ok(insn) => {
                        count(insn.flow());
                        insn.len()
                    }
                    Err(_) => 1,
                }
            };
            rest = rest.get(length..).unwrap_or_default();
        }
    }
    for (flow, count) in flows {
        writeln!(out, "{count:>9} {flow}")?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let program = std::env::args_os().nth(1).map_or_else(std::env::current_exe, |path| Ok(PathBuf::from(path)))?;
    run(&program, &mut io::stdout())
}
