//! LLVM's disassembler, llvm-mc: a program that is asked for many encodings at once.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use insn::x86::{Bits, Mode, decode};

use crate::a64;
use crate::deviations::Difference;

/// Its name in the lists of deviations.
pub const NAME: &str = "llvm-mc";
/// The variable that names the program: the newest that Debian has, which `cargo xtask setup` brings.
pub const VARIABLE: &str = "NTRACE_LLVM_MC";

/// Blocks that one process is given.
const CHUNK: usize = 50_000;
/// What it writes of a prefix that belongs to no instruction, or stands before one.
pub const PREFIXES: [&str; 15] = [
    "lock", "rep", "repe", "repne", "data16", "data32", "addr16", "addr32", "cs", "ds", "es", "fs", "gs", "ss", "rex64",
];

/// The program.
#[derive(Clone, Debug)]
pub struct Assembler {
    program: PathBuf,
}

/// What it says of an encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How that differs from what we say.
    pub difference: Option<Difference>,
    /// What it writes of the instruction; nothing where it takes it for none.
    pub text: String,
}

impl Answer {
    /// The instruction's name.
    pub fn name(&self) -> &str {
        self.text.split_whitespace().next().unwrap_or_default()
    }
}

/// What bytes are read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// x86, in a code segment of that size.
    X86(Bits),
    /// The same, written in Intel's syntax, whose names have no suffixes.
    Intel(Bits),
    /// A64, with all extensions.
    A64,
    /// The same without aliases.
    A64Plain,
}

/// The one that [`VARIABLE`] names.
pub fn find() -> Option<Assembler> {
    std::env::var_os(VARIABLE).map(|program| Assembler { program: program.into() })
}

impl Language {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Language::X86(Bits::B64) => &["--triple=x86_64"],
            Language::X86(Bits::B32) => &["--triple=i386"],
            Language::X86(Bits::B16) => &["--triple=i386-unknown-unknown-code16"],
            Language::Intel(Bits::B64) => &["--triple=x86_64", "--output-asm-variant=1"],
            Language::Intel(Bits::B32) => &["--triple=i386", "--output-asm-variant=1"],
            Language::Intel(Bits::B16) => &["--triple=i386-unknown-unknown-code16", "--output-asm-variant=1"],
            Language::A64 => &["--triple=aarch64", "--mattr=+all"],
            Language::A64Plain => &["--triple=aarch64", "--mattr=+all", "-M", "no-aliases"],
        }
    }

    fn is_a64(self) -> bool {
        matches!(self, Language::A64 | Language::A64Plain)
    }

    /// An instruction that tells one block from the next, and the text of it: a move of the number to eax, or `udf`.
    fn mark(self, number: usize) -> (Vec<u8>, String) {
        match self {
            Language::A64 | Language::A64Plain => {
                let number = number as u16;
                (vec![number as u8, (number >> 8) as u8, 0, 0], format!("udf\t#{number}"))
            }
            Language::X86(bits) | Language::Intel(bits) => {
                let number = 0x6000_0000 | number as u32;
                let size: &[u8] = if bits == Bits::B16 { &[0x66] } else { &[] };
                let is_intel = matches!(self, Language::Intel(_));
                let text = if is_intel { format!("mov\teax, {number}") } else { format!("movl\t${number}, %eax") };
                ([size, &[0xb8], &number.to_le_bytes()].concat(), text)
            }
        }
    }
}

impl Assembler {
    /// What it says of itself.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn version(&self) -> io::Result<String> {
        let output = Command::new(&self.program).arg("--version").output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find(|line| line.contains("version")).unwrap_or("of no version");
        Ok(line.trim().to_owned())
    }

    /// The lines that it writes of each block: one for each instruction up to the first that is none.
    ///
    /// # Errors
    /// It cannot be talked to, or writes what it was not asked for.
    pub fn lines(&self, language: Language, blocks: &[Vec<u8>]) -> io::Result<Vec<Vec<String>>> {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let mut all = Vec::with_capacity(blocks.len());
        for some in blocks.chunks(CHUNK * workers) {
            let answers: Vec<io::Result<Vec<Vec<String>>>> = thread::scope(|scope| {
                let parts = some.chunks(some.len().div_ceil(workers).max(1));
                let threads: Vec<_> = parts.map(|part| scope.spawn(move || self.chunk(language, part))).collect();
                let broken = || Err(io::Error::other("a thread panicked"));
                threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| broken())).collect()
            });
            for answer in answers {
                all.extend(answer?);
            }
        }
        Ok(all)
    }

    fn chunk(&self, language: Language, blocks: &[Vec<u8>]) -> io::Result<Vec<Vec<String>>> {
        let mut command = Command::new(&self.program);
        command.arg("--disassemble").args(language.arguments());
        // It complains of each block that is no instruction.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let mut input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut text = String::new();
        for (number, block) in blocks.iter().enumerate() {
            for bytes in [&language.mark(number).0, block] {
                let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:#04x}")).collect();
                text.push_str(&format!("[{}]\n", digits.join(" ")));
            }
        }
        let writer = thread::spawn(move || input.write_all(text.as_bytes()));
        let output = child.wait_with_output()?;
        writer.join().map_err(|_| io::ErrorKind::BrokenPipe)??;
        let mut answers: Vec<Vec<String>> = Vec::with_capacity(blocks.len());
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let line = line.split('#').next().filter(|_| !language.is_a64()).unwrap_or(line);
            let line = line.split("//").next().unwrap_or(line).trim();
            if line == language.mark(answers.len()).1 {
                answers.push(Vec::new());
            } else if let Some(last) = answers.last_mut().filter(|_| !line.is_empty() && !line.starts_with('.')) {
                last.push(line.to_owned());
            }
        }
        if answers.len() != blocks.len() {
            return Err(io::Error::other(format!("{} answers for {} blocks", answers.len(), blocks.len())));
        }
        Ok(answers)
    }

    /// What it says of encodings beside our strict reading of x86.
    ///
    /// # Errors
    /// Those of [`Assembler::lines`].
    pub fn x86(&self, mode: Mode, encodings: &[[u8; 15]]) -> io::Result<Vec<Answer>> {
        const NOP: u8 = 0x90;
        let ours = |bytes: &[u8; 15]| decode(bytes, mode).ok().map(|insn| insn.len());
        let block = |bytes: &[u8; 15]| match ours(bytes) {
            // It has read as much as we where it goes on with what follows.
            Some(len) => [bytes.get(..len).unwrap_or_default(), &[NOP]].concat(),
            None => bytes.to_vec(),
        };
        let lines = self.lines(Language::X86(mode.bits), &encodings.iter().map(block).collect::<Vec<_>>())?;
        let judge = |(bytes, lines): (&[u8; 15], Vec<String>)| {
            let mut names = lines.iter().filter(|line| !PREFIXES.contains(&line.as_str()));
            let (first, second, third) = (names.next(), names.next(), names.next());
            let difference = match (ours(bytes), first, second, third) {
                (None, None, ..) => None,
                (Some(_), Some(_), Some(nop), None) if nop == "nop" => None,
                (None, Some(_), ..) => Some(Difference::Accepts),
                (Some(_), None, ..) => Some(Difference::Refuses),
                _ => Some(Difference::Length),
            };
            Answer { difference, text: first.cloned().unwrap_or_default() }
        };
        Ok(encodings.iter().zip(lines).map(judge).collect())
    }

    /// What it says of A64 words, with its text; nothing where it refuses. Words below 0x1_0000 are not asked for: they tell blocks apart.
    ///
    /// # Errors
    /// Those of [`Assembler::lines`].
    pub fn a64(&self, words: &[u32]) -> io::Result<Vec<Option<(a64::Answer, String)>>> {
        let blocks: Vec<Vec<u8>> = words.iter().map(|word| word.to_le_bytes().to_vec()).collect();
        let lines = self.lines(Language::A64, &blocks)?;
        let of_lines = |lines: Vec<String>| lines.into_iter().next().map(|text| (a64::of_text(&text), text));
        Ok(lines.into_iter().map(of_lines).collect())
    }
}
