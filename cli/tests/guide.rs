#![cfg(target_arch = "x86_64")]
//! Every command of docs/guide.md prints what the guide shows.
//!
//! The test runs the commands of all blocks of the kind `console`, in order, in one shell in one empty folder. A block with a file's name
//! behind the language (`c shop.c`) is the content of that file, written before the first command. Blocks of the kind `sh` are not run.
//!
//! Rules for the shown output:
//! - a line `…` stands for any number of lines, also none;
//! - `[..]` in a line stands for any text;
//! - in a block after the line `<!-- addresses vary -->`, a hexadecimal number with 0x, a number with a fraction, and a number of three or
//!   more digits stand for any number, and the unit of a time for any unit. Spaces stand for any number of spaces. ` at FILE:LINE` at the end
//!   of a line may be missing, since a machine may lack debug files;
//! - in a block after the line `<!-- numbers vary -->`, all other numbers stand for any number too.

mod common;

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::scratch;
use regex::Regex;

/// The longest run of the whole guide in seconds.
const LONGEST: &str = "120";

/// A command of the guide with the output that the guide shows.
struct Shown {
    /// The line of the guide.
    line: usize,
    command: String,
    output: Vec<String>,
    vary: Vary,
}

/// The numbers of an output that differ between machines.
#[derive(Clone, Copy, PartialEq)]
enum Vary {
    None,
    /// Addresses, times, ids and large counts.
    Addresses,
    /// All numbers.
    Numbers,
}

/// The commands and the files of the guide.
#[derive(Default)]
struct Guide {
    shown: Vec<Shown>,
    files: Vec<(String, String)>,
}

impl Guide {
    fn parse(text: &str) -> Guide {
        let mut guide = Guide::default();
        let (mut kind, mut vary) = (None, Vary::None);
        for (number, line) in text.lines().enumerate() {
            match (kind, line.strip_prefix("```")) {
                (None, Some(language)) => {
                    kind = Some(language);
                    if let Some((_, name)) = language.split_once(' ') {
                        guide.files.push((name.into(), String::new()));
                    }
                }
                (None, None) => {
                    vary = match line {
                        "<!-- addresses vary -->" => Vary::Addresses,
                        "<!-- numbers vary -->" => Vary::Numbers,
                        _ => Vary::None,
                    }
                }
                (Some(_), Some(_)) => (kind, vary) = (None, Vary::None),
                (Some("console"), None) => guide.console(number + 1, line, vary),
                (Some(language), None) if language.contains(' ') => {
                    let (_, content) = guide.files.last_mut().unwrap();
                    content.extend([line, "\n"]);
                }
                (Some(_), None) => {}
            }
        }
        guide
    }

    /// Adds a line of a console block.
    fn console(&mut self, line: usize, text: &str, vary: Vary) {
        match (text.strip_prefix("$ "), self.shown.last_mut()) {
            (Some(command), _) => {
                self.shown.push(Shown { line, command: command.into(), output: Vec::new(), vary });
            }
            (None, Some(shown)) => shown.output.push(text.into()),
            (None, None) => panic!("docs/guide.md:{line}: output without a command"),
        }
    }

    /// Runs all commands, and returns the output of each.
    fn run(&self) -> Vec<String> {
        let folder = scratch("guide");
        fs::create_dir(&folder).unwrap();
        for (name, content) in &self.files {
            fs::write(folder.join(name), content).unwrap();
        }
        // A line of the output that separates the commands. The status of a command is kept for the next one.
        let separated = |shown: &Shown| format!("{}\nstatus=$?; printf '\\n\\001\\n'; (exit $status)\n", shown.command);
        let script: String = self.shown.iter().map(separated).collect();
        fs::write(folder.join(".script"), format!("trap 'kill $(jobs -p) 2>&-' EXIT\n{script}")).unwrap();
        let output = folder.join(".output");
        let file = File::create(&output).unwrap();
        let bin = Path::new(env!("CARGO_BIN_EXE_ntrace")).parent().unwrap();
        let path = std::env::join_paths([bin.into(), PathBuf::from("/usr/bin"), PathBuf::from("/bin")]).unwrap();
        Command::new("timeout")
            .args([LONGEST, "bash", ".script"])
            .current_dir(&folder)
            .env("PATH", path)
            .env("HOME", &folder)
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .status()
            .unwrap();
        let text = String::from_utf8_lossy(&fs::read(&output).unwrap()).into_owned();
        fs::remove_dir_all(&folder).unwrap();
        let mut outputs: Vec<String> = text.split("\n\u{1}\n").map(str::to_string).collect();
        // Behind the last separator is nothing.
        outputs.pop();
        outputs
    }
}

impl Shown {
    /// Whether the guide shows this output.
    fn matches(&self, output: &str) -> bool {
        let lines: Vec<&str> = output.lines().collect();
        let patterns: Vec<Option<Regex>> =
            self.output.iter().map(|line| (line != "…").then(|| self.pattern(line))).collect();
        // The numbers of lines that the patterns so far can match.
        let mut matched = vec![0];
        for pattern in &patterns {
            matched = match pattern {
                None => (matched[0]..=lines.len()).collect(),
                Some(pattern) => {
                    let next = matched.iter().filter(|&&at| lines.get(at).is_some_and(|line| pattern.is_match(line)));
                    next.map(|at| at + 1).collect()
                }
            };
            if matched.is_empty() {
                return false;
            }
        }
        matched.contains(&lines.len())
    }

    fn pattern(&self, line: &str) -> Regex {
        let mut pattern = regex::escape(line.trim_end()).replace(r"\[\.\.\]", ".*");
        let varying = match self.vary {
            Vary::None => None,
            Vary::Addresses => Some(r"0x[0-9a-f]+|[0-9]+\\\.[0-9]+|[0-9]{3,}"),
            Vary::Numbers => Some(r"0x[0-9a-f]+|[0-9]+\\\.[0-9]+|[0-9]+"),
        };
        if let Some(varying) = varying {
            let source = Regex::new(r" at [^ ]+:[0-9]+$").unwrap();
            let (line, at) = source.find(&pattern).map_or((pattern.as_str(), ""), |at| pattern.split_at(at.start()));
            let replaced = [line, at].map(|part| {
                let part =
                    Regex::new(varying).unwrap().replace_all(part, r"(0x[0-9a-f]+|[0-9]+(\.[0-9]+)?)").into_owned();
                // A time may have another unit.
                let unit = Regex::new(" (ns|µs|ms|s)( |$)").unwrap();
                let part = unit.replace_all(&part, " (ns|µs|ms|s)$2").into_owned();
                Regex::new(" +").unwrap().replace_all(&part, " +").into_owned()
            });
            let [line, at] = replaced;
            pattern = if at.is_empty() { line } else { format!("{line}({at})?") };
        }
        // Lines of numbers are aligned to the right.
        Regex::new(&format!("^{} *$", pattern.strip_prefix(" +").map_or(pattern.clone(), |rest| format!(" *{rest}"))))
            .unwrap()
    }
}

fn guide() -> Guide {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide.md");
    Guide::parse(&fs::read_to_string(file).unwrap())
}

#[test]
fn every_command_prints_what_the_guide_shows() {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !is_root && !matches!(scope.trim(), "" | "0") {
        return crossing::skip("the guide", "only descendants may be attached to (ptrace_scope)");
    }
    let guide = guide();
    assert!(guide.shown.len() > 20, "{} commands", guide.shown.len());
    let outputs = guide.run();
    let mut wrong = String::new();
    for (shown, output) in guide.shown.iter().zip(&outputs).filter(|(shown, output)| !shown.matches(output)) {
        let Shown { line, command, output: expected, .. } = shown;
        wrong += &format!("docs/guide.md:{line}: $ {command}\nshown:\n{}\nprinted:\n{output}\n\n", expected.join("\n"));
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(outputs.len(), guide.shown.len(), "the shell ended after {:?}", outputs.last());
}

#[test]
fn another_output_than_the_shown_one_is_noticed() {
    let shown = |output: &str, vary| {
        let output = output.lines().map(str::to_string).collect();
        Shown { line: 1, command: String::new(), output, vary }
    };
    use Vary::*;
    for (expected, vary, output, matches) in [
        ("a\nb", None, "a\nb\n", true),
        ("a\nb", None, "a\n", false),
        ("a\nb", None, "a\nb\nc\n", false),
        ("a\n…\nd", None, "a\nb\nc\nd", true),
        ("a\n…\nd", None, "a\nd", true),
        ("a\n…\nd", None, "a\nb\nc", false),
        ("…\na\n…", None, "b\na\na\nc", true),
        ("x [..] z", None, "x y z", true),
        ("x [..] z", None, "x y", false),
        ("  4  f", None, "  5  f", false),
        ("  4  f", Addresses, "  5  f", false),
        ("  4  f", Numbers, " 55  f", true),
        ("  4  f", Numbers, "  5  g", false),
        (" 1.23  f", Addresses, "  17.5  f", true),
        (" 441 f", Addresses, "  9 f", true),
        ("after 78.7 µs", Addresses, "after 1.56 ms", true),
        ("after 78.7 µs", Addresses, "after 1.56 m", false),
        ("after 78.7 µs", None, "after 78.7 ms", false),
        ("12 ms mean", Numbers, "7 µs mean", true),
        ("at 0x10 (a)", Addresses, "at 0xfe (a)", true),
        ("at 0x10 (a)", None, "at 0xfe (a)", false),
        ("  4  f at a.c:3", Addresses, "  4  f", true),
        ("  4  f at a.c:3", Addresses, "  4  f at a.c:7", false),
        ("  4  f at a.c:333", Addresses, "  4  f at a.c:7", true),
        ("  4  f at a.c:3", Addresses, "  4  f at b.c:3", false),
        ("  4  f at a.c:3", None, "  4  f", false),
    ] {
        assert_eq!(shown(expected, vary).matches(output), matches, "{expected:?} {output:?}");
    }
}
