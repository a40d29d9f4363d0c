//! Real programs with a site on every instruction, libraries and the loader included, do what they do undisturbed.

use std::path::Path;
use std::process::Command;

use crossing::debuggee::build_go;
use crossing::whole::{Length, count_everything, hits_in_all, run, run_traced, wanted};
use crossing::{figure, skip};

/// Programs of any Debian with an output that depends on nothing but their arguments; they run a few 100,000 instructions each.
const SHORT: &[&[&str]] = &[
    &["/bin/true"],
    &["/bin/false"],
    &["/bin/echo", "one", "two"],
    &["/bin/ls", "/usr/lib/os-release", "/nowhere"],
    &["/bin/sh", "-c", "for i in 1 2; do /bin/echo $i | /bin/cat; done; exit 7"],
    &["/bin/sh", "-c", "trap 'echo caught' USR1; kill -USR1 $$; (exit 3); echo $?; kill -TERM $$"],
    // Its interpreter and its compiler have sites, the code that it makes has none: what is written while the program runs is
    // no instruction of a file.
    &["/usr/bin/luajit", "-e", "local s = 0 for i = 1, 300 do s = s + i % 7 end print(s)"],
];

/// Longer ones, half a million to some ten million instructions, run where the variable `NTRACE_WHOLE_PROGRAMS` is `all`.
const LONG: &[&[&str]] = &[
    &["/usr/bin/sort", "/etc/services"],
    &["/usr/bin/sha256sum", "/etc/services"],
    &["/bin/grep", "-c", "tcp", "/etc/services"],
    &["/usr/bin/awk", "{ n += NF } END { print n }", "/etc/passwd"],
    &["/bin/gzip", "-c", "/etc/passwd"],
    &["/bin/bash", "-c", "trap 'echo caught' USR1; kill -USR1 $$; (exit 3); echo $?; kill -TERM $$"],
    &[
        "/usr/bin/perl",
        "-e",
        "$SIG{ALRM} = sub { print qq(alarm\\n) }; kill ALRM => $$; print join q( ), map { $_ ** 2 } 1 .. 9",
    ],
    &["/usr/bin/git", "--version"],
    &[
        "/usr/bin/sqlite3",
        ":memory:",
        "create table t(a, b); insert into t values(1, 2), (3, 4); select sum(a * b) from t;",
    ],
    &["/usr/bin/xz", "-c", "/etc/passwd"],
    &["/usr/bin/openssl", "dgst", "-sha256", "/etc/services"],
    &["/usr/bin/python3", "-I", "-S", "-c", "print(sum(i * i for i in range(1000)))"],
];

#[test]
fn output_and_status_equal_the_undisturbed_run_with_a_site_on_every_instruction() {
    none_differs("output_and_status", Length::Short, SHORT, |words| difference("programs", words, None));
}

#[test]
fn longer_programs_too() {
    none_differs("longer_programs_too", Length::Long, LONG, |words| difference("programs", words, None));
}

/// Programs that run a hundred million instructions before they begin, with a site on every instruction of functions of their own:
/// what these are, their names, the program.
type Part = (&'static str, &'static str, &'static [&'static str]);
const PARTS: &[Part] = &[
    ("its own functions", "gdb!*", &["/usr/bin/gdb", "-nx", "-batch", "-ex", "print 6 * 7"]),
    // What code that is compiled while it runs calls, and its interpreter.
    (
        "builtins",
        "node!Builtins_*",
        &["/usr/bin/node", "-e", "let s = 0; for (let i = 1; i <= 300; i++) s += i % 7; console.log(s)"],
    ),
];

impl Words for Part {
    fn words(&self) -> &[&str] {
        self.2
    }
}

#[test]
fn programs_that_are_too_long_run_with_sites_in_parts_of_them() {
    none_differs("programs_that_are_too_long", Length::Long, PARTS, |(part, functions, words)| {
        difference("programs", words, Some((part, functions)))
    });
}

#[test]
fn the_longest_run_with_a_site_on_every_instruction_in_an_hour_each() {
    none_differs("the_longest_run", Length::Longest, PARTS, |(_, _, words)| difference("longest", words, None));
}

#[test]
fn goroutines_with_their_scheduler_and_collector_run_as_if_alone() {
    if !wanted("goroutines", Length::Long) {
        return skip("goroutines", UNWANTED);
    }
    match build_go("goroutines.go") {
        Ok((_directory, program)) => {
            assert_eq!(difference("programs", &[program.to_str().expect("a path of text")], None), None);
        }
        Err(reason) => skip("goroutines", reason),
    }
}

/// Why a test has nothing to do.
const UNWANTED: &str = "NTRACE_WHOLE_PROGRAMS does not ask for it";

/// What has a program's words.
trait Words {
    fn words(&self) -> &[&str];
}

impl Words for &[&str] {
    fn words(&self) -> &[&str] {
        self
    }
}

/// Fails where one of the `programs` that are wanted differs.
fn none_differs<W: Words>(test: &str, length: Length, programs: &[W], difference: impl Fn(&W) -> Option<String>) {
    let name = |program: &&W| program.words()[0].rsplit('/').next().unwrap_or_default().to_owned();
    let chosen: Vec<&W> = programs.iter().filter(|program| wanted(&name(program), length)).collect();
    if chosen.is_empty() {
        return skip(test, UNWANTED);
    }
    let differences: Vec<String> = chosen.into_iter().filter_map(difference).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

/// What differs between a program alone and with a site everywhere, or in the functions that `part` names; the figure goes to `section`.
fn difference(section: &str, words: &[&str], part: Option<(&str, &str)>) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    if !Path::new(program).exists() {
        skip("whole_programs", format_args!("{program} is not installed"));
        return None;
    }
    let alone = run(Command::new(program).args(arguments));
    let counts = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut counting = count_everything(counts.path());
    if let Some((_, functions)) = part {
        counting.args(["-b", functions]);
    }
    let traced = run_traced(counting.args(["--", program]).args(arguments));
    if alone != traced {
        return Some(format!("{words:?}\nalone:  {alone:?}\ntraced: {traced:?}"));
    }
    let mut name = Path::new(program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Some((part, _)) = part {
        name += &format!(", {part}");
    }
    figure(section, &name, format_args!("hits={}", hits_in_all(counts.path())));
    None
}
