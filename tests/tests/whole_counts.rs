//! The hits of every instruction of whole programs are its executions in a hardware trace.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crossing::debuggee::Program;
use crossing::whole::{BUILDS, all, ntrace, record, run_silently};
use crossing::{figure, skip};
use object::{Object, ObjectSegment};

/// Programs that execute the same instructions in each run, where addresses are not randomised and the environment is fixed.
const SHORT: &[&[&str]] = &[&["/bin/echo", "a", "b"], &["/bin/cat", "/etc/passwd"]];

/// Longer ones. Not grep, which reads its own memory map, where the storage of sites is a line more.
const LONG: &[&[&str]] = &[
    &["/usr/bin/sort", "/etc/services"],
    &["/usr/bin/sha256sum", "/etc/services"],
    &["/bin/gzip", "-c", "/etc/passwd"],
    &[
        "/usr/bin/sqlite3",
        ":memory:",
        "create table t(a, b); insert into t values(1, 2), (3, 4); select sum(a * b) from t;",
    ],
    &["/usr/bin/awk", "{ n += NF } END { print n }", "/etc/passwd"],
    &["/usr/bin/git", "--version"],
    &["/bin/ls", "/usr/lib/os-release"],
];

#[test]
fn hits_equal_the_executions_that_a_hardware_trace_has() {
    for words in SHORT.iter().chain(if all() { LONG } else { &[] }) {
        if Path::new(words[0]).exists() {
            compare(words[0].rsplit('/').next().unwrap_or_default(), words);
        } else {
            skip("whole_counts", format_args!("{} is not installed", words[0]));
        }
    }
}

#[test]
fn they_do_in_programs_that_are_built_otherwise() {
    for flags in BUILDS {
        match Program::build("storm.c", flags) {
            Some(program) => compare(
                &format!("storm{}", flags.concat()),
                &[program.path().to_str().expect("a path of text"), "child"],
            ),
            None => skip("whole_counts", format_args!("gcc cannot build with {flags:?} here")),
        }
    }
}

/// By file, and by address as its ELF headers number it.
type Counts = HashMap<(PathBuf, u64), u64>;

/// `name` is that of the figure.
fn compare(name: &str, words: &[&str]) {
    let (program, arguments) = words.split_first().expect("a program");
    let recording = record(program, arguments);
    assert!(recording.total() > 5_000, "{words:?}: only {} instructions recorded", recording.total());
    let hits = hits(words);
    let mut places: Vec<_> = recording.counts.keys().chain(hits.keys()).collect();
    places.sort_unstable();
    places.dedup();
    let of = |counts: &Counts, place| counts.get(place).copied().unwrap_or(0);
    let differences: Vec<String> = places
        .into_iter()
        .filter(|place| of(&recording.counts, place) != of(&hits, place))
        .map(|place| {
            let (file, address) = (place.0.display(), place.1);
            format!("{file}+{address:#x}: {} executions, {} hits", of(&recording.counts, place), of(&hits, place))
        })
        .collect();
    assert!(differences.is_empty(), "{words:?}: {} places differ:\n{}", differences.len(), differences.join("\n"));
    figure("programs", name, format_args!("hits={0} recorded={0}", recording.total()));
}

/// The hits that `ntrace count` tells, by addresses from each file's load base on, as a trace has them.
fn hits(words: &[&str]) -> Counts {
    let counts = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut command = Command::new("setarch");
    command.args([std::env::consts::ARCH, "-R"]).arg(ntrace()).args([
        "count",
        "--every-instruction",
        "--format",
        "json",
        "-o",
    ]);
    run_silently(command.arg(counts.path()).arg("--").args(words));
    let text = std::fs::read_to_string(counts.path()).expect("the counts");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut bases: HashMap<PathBuf, u64> = HashMap::new();
    let rows = json["counts"].as_array().expect("counts").iter();
    rows.map(|row| {
        let module = PathBuf::from(row["module"].as_str().expect("a module"));
        let base = *bases.entry(module.clone()).or_insert_with(|| lowest_address(&module));
        let address = row["address"].as_str().expect("an address").trim_start_matches("0x");
        let address = u64::from_str_radix(address, 16).expect("hexadecimal");
        ((module, address - base), row["hits"].as_u64().expect("hits"))
    })
    .collect()
}

/// The lowest address that a file's headers number: 0 where it is loaded anywhere. The kernel's vdso is such a one.
fn lowest_address(module: &Path) -> u64 {
    let Ok(bytes) = std::fs::read(module) else { return 0 };
    let file = object::File::parse(&*bytes).expect("an ELF file");
    file.segments().map(|segment| segment.address() & !0xfff).min().unwrap_or(0)
}
