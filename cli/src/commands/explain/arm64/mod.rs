//! `ntrace explain --arch arm64`.

mod answer;
mod operand;
mod plan;
mod text;

use std::io::{self, BufRead};
use std::process::ExitCode;

use self::answer::Answer;
use crate::args::ExplainArgs;
use crate::failure::{Failure, Result};
use crate::hex;
use crate::output::{Output, utf8};

/// Runs the command.
pub(super) fn run(args: &ExplainArgs) -> Result<ExitCode> {
    let mut out = Output::stdout();
    let mut status = ExitCode::SUCCESS;
    if matches!(args.hex.as_slice(), [dash] if dash == "-") {
        for line in io::stdin().lock().split(b'\n') {
            let line = line.map_err(|error| Failure::own(format!("standard input: {error}")))?;
            let line = utf8(line.strip_suffix(b"\r").unwrap_or(&line));
            let answer = match words(line.trim()).as_deref() {
                Ok([]) => Answer::invalid(&line, "no bytes"),
                Ok([word, ..]) => Answer::of(&[*word], 0, args.at),
                Err(error) => Answer::invalid(&line, error),
            };
            if args.json { out.json(&answer) } else { text::write_short(&answer, &mut out) }?;
        }
    } else {
        let words = words(&args.hex.join(" ")).map_err(Failure::usage)?;
        if words.is_empty() {
            return Err(Failure::usage("HEX holds no bytes"));
        }
        for (index, at) in (0..words.len()).zip((args.at..).step_by(insn::arm64::LEN)) {
            let answer = Answer::of(&words, index, at);
            if args.json { out.json(&answer) } else { text::write_long(&answer, &mut out) }?;
            if !answer.valid {
                status = ExitCode::from(1);
                break;
            }
        }
    }
    out.flush()?;
    Ok(status)
}

/// Parses the words of a text. Eight digits are a word, as listings print it; other digits are bytes in the order of memory.
fn words(text: &str) -> std::result::Result<Vec<u32>, String> {
    let mut bytes = Vec::new();
    for part in text.split([' ', ',', '\t']).filter(|part| !part.is_empty()) {
        let digits = part.strip_prefix("0x").unwrap_or(part);
        match u32::from_str_radix(digits, 16) {
            Ok(word) if digits.len() == 8 => bytes.extend(word.to_le_bytes()),
            _ => bytes.extend(hex::parse(part)?),
        }
    }
    if bytes.len() % insn::arm64::LEN != 0 {
        return Err(format!("{} bytes are not a whole number of words", bytes.len()));
    }
    Ok(hex::words(&bytes).collect())
}
