//! What `stepping` says of uprobes is what the running kernel does.

/// Functions `NAME_function` with the instruction at `NAME_site`, and the table of them.
macro_rules! cases {
    ($($name:ident: $before:literal, $probed:literal, $behind:literal => $class:expr, $runs:ident;)*) => {
        $(std::arch::global_asm!(
            ".balign 16",
            concat!(".globl ", stringify!($name), "_function, ", stringify!($name), "_site"),
            concat!(stringify!($name), "_function:"),
            $before,
            concat!(stringify!($name), "_site:"),
            $probed,
            $behind,
            "ret",
        );)*
        unsafe extern "C" {
            $(
                #[link_name = concat!(stringify!($name), "_function")]
                fn $name() -> u64;
            )*
        }
        mod sites {
            unsafe extern "C" {
                $(
                    #[link_name = concat!(stringify!($name), "_site")]
                    pub(super) static $name: u8;
                )*
            }
        }
        pub(crate) const CASES: &[$crate::Case] = &[$($crate::Case {
            name: stringify!($name),
            run: $name,
            site: &raw const sites::$name,
            class: $class,
            runs: $runs,
        },)*];
    };
}

#[cfg_attr(target_arch = "x86_64", path = "x86.rs")]
#[cfg_attr(target_arch = "aarch64", path = "arm64.rs")]
mod machine;

use std::io::{BufRead, BufReader, Error, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crossing::debuggee::{Program, this_program};
use crossing::uprobe::{hits, uprobe};
use crossing::victim::Victim;
use crossing::{in_turn, skip};
use stepping::Uprobe;

use self::machine::{CASES, Deviation, Refusal, classify, decode, instructions};

/// The bytes of a file that an instruction has for itself: no more are copied by the kernel.
const ROOM: usize = 32;
/// Of how many instructions one is tried, unless `NTRACE_ENCODINGS` is `all`.
const SAMPLE: usize = 149;
/// `ENOEXEC` and `ENOTSUPP` of the kernel.
const UNKNOWN: i32 = 8;
const NOT_SUPPORTED: i32 = 524;

/// A function with an instruction to probe.
struct Case {
    name: &'static str,
    run: unsafe extern "C" fn() -> u64,
    site: *const u8,
    /// The answer that `stepping` has to give for the instruction.
    class: Uprobe<Refusal, Deviation>,
    /// Whether the processor has the instruction.
    runs: fn() -> bool,
}

/// A process that has mapped a file as code. It ends with this.
struct Mapped(Child);

impl Mapped {
    fn start(program: &Program, file: &Path) -> Mapped {
        let mut command = Command::new(program.path());
        command.arg(file).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = in_turn(|| command.spawn()).expect("a program");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("it tells");
        assert_eq!(line, "mapped\n");
        Mapped(child)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.0.stdin = None;
        let _ = self.0.wait();
    }
}

/// What the kernel makes of a uprobe.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Answer {
    Accepted,
    Refused,
    /// The kernel's decoder does not know the instruction.
    Unknown,
}

fn is_refused(error: &Error) -> bool {
    [Some(NOT_SUPPORTED), Some(libc::EINVAL)].contains(&error.raw_os_error())
}

/// Compares what is refused of many instructions with what the kernel refuses.
fn compare(name: &str, program: &Program, is_narrow: bool) {
    let instructions = instructions(is_narrow);
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    for bytes in &instructions {
        let mut room = bytes.clone();
        room.resize(ROOM, 0x90);
        file.write_all(&room).expect("there is room");
    }
    let process = Mapped::start(program, file.path());
    let ask = |index: usize| match uprobe(process.0.id(), file.path(), (index * ROOM) as u64) {
        Ok(_) => Ok(Answer::Accepted),
        Err(error) if error.raw_os_error() == Some(UNKNOWN) => Ok(Answer::Unknown),
        Err(error) if is_refused(&error) => Ok(Answer::Refused),
        Err(error) => Err(error),
    };
    if let Err(error) = ask(0) {
        return skip(name, error);
    }
    // The kernel takes a tenth of a second to end a uprobe.
    let step = if std::env::var_os("NTRACE_ENCODINGS").is_some_and(|value| value == "all") { 1 } else { SAMPLE };
    let asked = (0..instructions.len()).step_by(step);
    let answers: Vec<(usize, Answer)> = asked.map(|index| (index, ask(index).expect("others were answered"))).collect();
    let number_of = |wanted| answers.iter().filter(|(_, answer)| *answer == wanted).count();
    let mut wrong = Vec::new();
    for (index, answer) in &answers {
        let class = classify(&instructions[*index], is_narrow);
        if *answer != Answer::Unknown && (*answer == Answer::Refused) != matches!(class, Uprobe::Refused(_)) {
            wrong.push(format!("{:02x?}: {class}, and by the kernel {answer:?}", instructions[*index]));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ\n{}", wrong.len(), instructions.len(), wrong.join("\n"));
    let numbers = [Answer::Accepted, Answer::Refused, Answer::Unknown].map(number_of);
    assert!(numbers[0] > 0 && numbers[1] > 0, "{numbers:?}");
}

#[test]
fn the_kernel_refuses_what_is_called_refused_and_nothing_else() {
    let program = Program::build("mapped.c", &[]).expect("gcc is needed");
    compare("the_kernel_refuses_what_is_called_refused_and_nothing_else", &program, false);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_kernel_refuses_what_is_called_refused_and_nothing_else_in_32_bit_code() {
    const NAME: &str = "the_kernel_refuses_what_is_called_refused_and_nothing_else_in_32_bit_code";
    match Program::build("mapped.c", &["-m32"]) {
        Some(program) => compare(NAME, &program, true),
        None => skip(NAME, "gcc cannot build with -m32"),
    }
}

/// Runs a case, with a uprobe or without: what the function returns, or the status of the process that it ended; and the hits.
fn run(case: usize, is_probed: bool) -> std::io::Result<(Result<u64, i32>, Option<u64>)> {
    let mut victim = Victim::start(|number| {
        let case = &CASES[number as usize];
        // SAFETY: the function follows the C calling convention, and its process runs nothing else.
        unsafe { (case.run)() }
    });
    let program = std::env::current_exe()?;
    let probe: Option<OwnedFd> = if is_probed {
        Some(uprobe(victim.id(), &program, CASES[case].site as u64 - this_program().base())?)
    } else {
        None
    };
    victim.order(case as u64);
    Ok((victim.outcome(), probe.as_ref().map(hits)))
}

#[test]
fn what_is_called_wrong_runs_wrong_and_what_is_called_passed_does_not() {
    const NAME: &str = "what_is_called_wrong_runs_wrong_and_what_is_called_passed_does_not";
    let mut differences = Vec::new();
    for (number, case) in CASES.iter().enumerate() {
        // SAFETY: the address is that of this program's code, whose last instruction is followed by more than that.
        let code = unsafe { std::slice::from_raw_parts(case.site, 16) };
        assert_eq!(decode(code), case.class, "{}", case.name);
        if !(case.runs)() {
            skip(NAME, format_args!("{}: this processor lacks the instruction", case.name));
            continue;
        }
        let (expected, _) = run(number, false).expect("no uprobe");
        let found = match run(number, true) {
            Ok(found) => Some(found),
            Err(error) if is_refused(&error) => None,
            Err(error) => return skip(NAME, error),
        };
        let is_right = found.map(|found| found == (expected, Some(1)));
        let is_expected = match case.class {
            Uprobe::Passed => is_right == Some(true),
            Uprobe::Refused(_) => is_right.is_none(),
            Uprobe::Wrong(deviation) => {
                is_right == Some(false) || machine::is_mended(deviation) && is_right == Some(true)
            }
        };
        if !is_expected {
            differences.push(format!("{}: {}, but {expected:x?} becomes {found:x?}", case.name, case.class));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
