//! `ntrace explain`.

mod answer;
mod arm64;
mod fields;
mod text;

use std::io::{self, BufRead};
use std::process::ExitCode;

use insn::x86::{Bits, Mode, decode};
use ubp_symbols::code;

use self::answer::{Answer, Tools};
use crate::args::{Arch, ExplainArgs};
use crate::failure::{Failure, Result};
use crate::hex;
use crate::output::{Output, utf8};

/// Explains x86 instructions.
struct Explainer {
    mode: Mode,
    at: u64,
    json: bool,
    tools: Tools,
}

/// Runs the command.
pub(super) fn run(args: &ExplainArgs) -> Result<ExitCode> {
    let bits = match args.arch {
        Arch::X86_64 => Bits::B64,
        Arch::I386 => Bits::B32,
        Arch::I8086 => Bits::B16,
        Arch::Arm64 => return arm64::run(args),
    };
    let mode = Mode::new(bits, args.vendor.map_or_else(code::vendor, Into::into));
    let mode = if args.lenient { mode.lenient() } else { mode };
    let mut explainer = Explainer { mode, at: args.at, json: args.json, tools: Tools::new() };
    let mut out = Output::stdout();
    let status = match args.hex.as_slice() {
        [dash] if dash == "-" => explainer.lines(&mut io::stdin().lock(), &mut out)?,
        words => explainer.bytes(&words.join(" "), &mut out)?,
    };
    out.flush()?;
    Ok(status)
}

impl Explainer {
    /// Explains the instructions in a text of hexadecimal digits, one after another.
    fn bytes(&mut self, text: &str, out: &mut Output<'_>) -> Result<ExitCode> {
        let bytes = hex::parse(text).map_err(Failure::usage)?;
        if bytes.is_empty() {
            return Err(Failure::usage("HEX holds no bytes"));
        }
        let mut rest = bytes.as_slice();
        let mut pc = self.at;
        while !rest.is_empty() {
            let answer = match decode(rest, self.mode) {
                Ok(insn) => Answer::of(&insn, rest, hex::plain(insn.bytes()), pc, &mut self.tools),
                Err(error) => Answer::undecodable(rest, pc, error),
            };
            if self.json { out.json(&answer) } else { text::write_long(&answer, out) }?;
            let Some(length) = answer.length else { return Ok(ExitCode::from(1)) };
            rest = rest.get(length..).unwrap_or_default();
            pc = pc.wrapping_add(length as u64);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Explains one instruction in each line of the input.
    fn lines(&mut self, input: &mut impl BufRead, out: &mut Output<'_>) -> Result<ExitCode> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = input.read_until(b'\n', &mut line);
            if read.map_err(|error| Failure::own(format!("standard input: {error}")))? == 0 {
                return Ok(ExitCode::SUCCESS);
            }
            let answer = self.line(utf8(&line).trim());
            if self.json { out.json(&answer) } else { text::write_short(&answer, out) }?;
        }
    }

    fn line(&mut self, line: &str) -> Answer {
        let bytes = match hex::parse(line) {
            Ok(bytes) if bytes.is_empty() => return Answer::invalid(line.into(), "no bytes".into()),
            Ok(bytes) => bytes,
            Err(error) => return Answer::invalid(line.into(), error),
        };
        match decode(&bytes, self.mode) {
            Ok(insn) => Answer::of(&insn, &bytes, hex::plain(&bytes), self.at, &mut self.tools),
            Err(error) => Answer::undecodable(&bytes, self.at, error),
        }
    }
}
