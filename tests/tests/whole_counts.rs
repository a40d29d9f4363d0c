//! The hits of every instruction of whole programs are its executions in a hardware trace.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crossing::channel::DEVICE;
use crossing::debuggee::{Program, build_go};
use crossing::whole::{BUILDS, Counts, Length, Place, ntrace, record, retried, run_silently, wanted};
use crossing::{figure, skip};
use object::{Object, ObjectSegment};
use serde_json::Value;

/// A program that executes the same instructions in each run, where addresses are not randomised and the environment is fixed.
struct Run {
    length: Length,
    /// The source of a library that it has before its own, which takes chance from it.
    library: Option<&'static str>,
    words: &'static [&'static str],
}

const fn run(length: Length, words: &'static [&'static str]) -> Run {
    Run { length, library: None, words }
}

const fn run_with(library: &'static str, length: Length, words: &'static [&'static str]) -> Run {
    Run { length, library: Some(library), words }
}

const RUNS: &[Run] = &[
    run(Length::Short, &["/bin/echo", "a", "b"]),
    run(Length::Short, &["/bin/cat", "/etc/passwd"]),
    run(Length::Long, &["/usr/bin/sort", "/etc/services"]),
    run(Length::Long, &["/usr/bin/sha256sum", "/etc/services"]),
    run(Length::Long, &["/bin/gzip", "-c", "/etc/passwd"]),
    run(Length::Long, &["/usr/bin/sqlite3", ":memory:", SQL]),
    run(Length::Long, &["/usr/bin/awk", "{ n += NF } END { print n }", "/etc/passwd"]),
    run(Length::Long, &["/usr/bin/git", "--version"]),
    run(Length::Long, &["/bin/ls", "/usr/lib/os-release"]),
    run(Length::Long, &["/usr/bin/xz", "-c", "/etc/passwd"]),
    run(Length::Long, &["/bin/bash", "-c", "for i in 1 2 3; do echo $((i * i)); done; exit 7"]),
    run(Length::Long, &["/bin/sh", "-c", "/bin/echo one; (exit 3); echo $?; exit 7"]),
    run(Length::Long, &["/usr/bin/perl", "-e", PERL]),
    run(Length::Long, &["/usr/bin/openssl", "dgst", "-sha256", "/etc/services"]),
    run(Length::Long, &["/usr/bin/python3", "-S", "-s", "-c", "print(sum(i * i for i in range(1000)))"]),
    run_with("blind.c", Length::Long, &["/bin/grep", "-c", "tcp", "/etc/services"]),
    // Its interpreter and its compiler are compared; what it compiles is no instruction of a file.
    run_with(
        "even.c",
        Length::Long,
        &["/usr/bin/luajit", "-e", "local s = 0 for i = 1, 300 do s = s + i % 7 end print(s)"],
    ),
    run_with("steady.c", Length::Longest, &["/usr/bin/gdb", "-nx", "-batch"]),
];

const SQL: &str = "create table t(a, b); insert into t values(1, 2), (3, 4); select sum(a * b) from t;";
const PERL: &str = "$SIG{ALRM} = sub { print qq(alarm\\n) }; kill ALRM => $$; print join q( ), map { $_ ** 2 } 1 .. 9";

#[test]
fn hits_equal_the_executions_that_a_hardware_trace_has() {
    let mut others = Vec::new();
    for Run { length, library, words } in RUNS {
        let name = words[0].rsplit('/').next().unwrap_or_default();
        // A machine that has the module is emulated, and the C library's instructions take minutes there. An ordinary run leaves them to
        // the programs below.
        let length = if Path::new(DEVICE).exists() { Length::Long.max(*length) } else { *length };
        if !wanted(name, length) {
            others.push(name);
            continue;
        }
        if !Path::new(words[0]).exists() {
            skip("whole_counts", format_args!("{} is not installed", words[0]));
            continue;
        }
        let section = if length == Length::Longest { "traced-longest" } else { "traced" };
        match library {
            Some(source) => {
                let library = Program::build(source, &["-shared", "-fPIC"]).expect("gcc builds for this machine");
                let preload = format!("LD_PRELOAD={}", path(&library));
                compare((section, name), &[&["/usr/bin/env", &preload], *words].concat(), |_| true);
            }
            None => compare((section, name), words, |_| true),
        }
    }
    if !others.is_empty() {
        skip("whole_counts", format_args!("NTRACE_WHOLE_PROGRAMS does not ask for {}", others.join(", ")));
    }
}

#[test]
fn they_do_in_the_dynamic_linker() {
    // Where a library asks for larger pages than the machine's, the linker unmaps what lies before it, or not, as the address happens to be.
    let small = "-Wl,-z,max-page-size=4096";
    let library =
        Program::build("linked.c", &["-shared", "-fPIC", "-nostdlib", "-DLIBRARY", small]).expect("gcc builds");
    let flags = ["-nostdlib", "-Wl,-z,lazy", path(&library)];
    let program = Program::build("linked.c", &flags).expect("gcc builds for this machine");
    compare(("traced", "dynamic linker"), &[path(&program)], |_| true);
}

#[test]
fn they_do_in_programs_that_are_built_otherwise() {
    for flags in BUILDS {
        let name = format!("storm{}", flags.concat());
        if !is_wanted(&name, Length::Short) {
            continue;
        }
        match Program::build("storm.c", flags) {
            Some(program) => compare(("traced", &name), &[path(&program), "child"], |_| true),
            None => skip("whole_counts", format_args!("gcc cannot build with {flags:?} here")),
        }
    }
}

/// What these functions execute depends on no other thread and on no signal.
#[test]
fn they_do_in_eight_threads_in_a_storm_of_signals_forks_and_execs() {
    // Emulated arm64 takes a quarter of an hour to single-step it under a distribution's kernel.
    let is_slow = cfg!(target_arch = "aarch64") && Path::new(DEVICE).exists();
    if !is_wanted("storm", if is_slow { Length::Long } else { Length::Short }) {
        return;
    }
    // A machine that has the module is emulated, and steps take long. Most steps of a dynamic program are the dynamic linker's. Each child
    // gets every site anew, so that the C library has none there.
    let is_emulated = Path::new(DEVICE).exists();
    let (flags, rounds): (&[&str], _) = if is_emulated { (&["-static-pie"], "1") } else { (&[], "3") };
    let storm = Program::build("storm.c", flags).expect("gcc builds for this machine");
    let own = ["main", "work", "compare", "mix", "run", "on_tick", "on_alarm", "make_children", "tick_again", "again"];
    let with_sites: Vec<&str> = storm.functions().filter(|name| is_emulated && own.contains(name)).collect();
    let functions = ["main", "work", "compare"].map(|name| storm.instructions(name)).concat();
    assert!(functions.len() > 100, "{functions:?}");
    compare_in(&with_sites, ("traced", "storm, its work"), &[path(&storm), rounds], |(file, at)| {
        file == storm.path() && functions.contains(at)
    });
}

/// What this function executes depends on no other goroutine; scheduler and collector do as it happens.
#[test]
fn they_do_in_goroutines() {
    if !is_wanted("goroutines", Length::Long) {
        return;
    }
    let (_directory, program) = match build_go("goroutines.go") {
        Ok(built) => built,
        Err(reason) => return skip("whole_counts", reason),
    };
    let program = Program::read(&program);
    let base = lowest_address(program.path());
    let share: Vec<u64> = program.instructions("main.share").into_iter().map(|at| at - base).collect();
    compare(("traced", "goroutines, their work"), &[path(&program)], |(file, at)| {
        file == program.path() && share.contains(at)
    });
}

/// Whether a program that is built here is wanted; tells where it is not.
fn is_wanted(name: &str, length: Length) -> bool {
    let is_wanted = wanted(name, length);
    if !is_wanted {
        skip("whole_counts", format_args!("NTRACE_WHOLE_PROGRAMS does not ask for {name}"));
    }
    is_wanted
}

/// Compares the hits of every instruction with the recorded executions, at the places that are `chosen`.
fn compare(noted: (&str, &str), words: &[&str], chosen: impl Fn(&Place) -> bool) {
    compare_in(&[], noted, words, chosen);
}

/// Compares what happens at the places that are `chosen`, with sites on the functions `with_sites` or, where there are none, on all code;
/// `noted` is the figure's section and name.
///
/// The vdso is left out: it reads the clock anew where the kernel moved it meanwhile. So are arm64's exclusive sequences: what carries
/// no breakpoint, as they would go round for ever, and the rest of what goes round once more where an interrupt comes between.
fn compare_in(with_sites: &[&str], noted: (&str, &str), words: &[&str], chosen: impl Fn(&Place) -> bool) {
    let (program, arguments) = words.split_first().expect("a program");
    let (mut recorded, (mut hits, exclusive, status)) = std::thread::scope(|scope| {
        let hits = scope.spawn(|| hits(with_sites, words));
        (record(program, arguments), hits.join().expect("the counts"))
    });
    for counts in [&mut recorded, &mut hits] {
        counts.retain(|place, _| place.0 != Path::new("[vdso]") && !exclusive.contains(place) && chosen(place));
    }
    let total: u64 = recorded.values().sum();
    assert!(total > 5_000, "{words:?}: only {total} instructions recorded");
    let mut places: Vec<_> = recorded.keys().chain(hits.keys()).collect();
    places.sort_unstable();
    places.dedup();
    let of = |counts: &Counts, place| counts.get(place).copied().unwrap_or(0);
    let differences: Vec<String> = places
        .into_iter()
        .filter(|place| of(&recorded, place) != of(&hits, place))
        .map(|place| {
            let (file, address) = (place.0.display(), place.1);
            format!("{file}+{address:#x}: {} executions, {} hits", of(&recorded, place), of(&hits, place))
        })
        .collect();
    let (count, all) = (differences.len(), differences.join("\n"));
    assert!(differences.is_empty(), "{words:?}: {count} places differ, and ntrace ended with {status}:\n{all}");
    figure(noted.0, noted.1, format_args!("hits={total} recorded={total}"));
}

fn path(program: &Program) -> &str {
    program.path().to_str().expect("a path of text")
}

/// The hits that `ntrace count` tells, by addresses from each file's load base on, as a trace has them; and the places of exclusive
/// sequences: those that it tells to have no breakpoint for their sake, and what is retried with them; and how `ntrace` ended.
fn hits(with_sites: &[&str], words: &[&str]) -> (Counts, HashSet<Place>, ExitStatus) {
    let counts = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut command = Command::new("setarch");
    command.args([std::env::consts::ARCH, "-R"]).arg(ntrace()).args([
        "count",
        "--every-instruction",
        "--format",
        "json",
        "-o",
    ]);
    command.arg(counts.path()).args(with_sites.iter().flat_map(|name| ["-b", name]));
    // Where the module is loaded, ptrace must not take its place.
    if Path::new(DEVICE).exists() {
        command.args(["--backend", "kernel"]);
    }
    let status = run_silently(command.arg("--").args(words));
    let text = std::fs::read_to_string(counts.path()).expect("the counts");
    let json: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let at = |row: &Value| {
        let address = row["address"].as_str().expect("an address").trim_start_matches("0x");
        let address = u64::from_str_radix(address, 16).expect("hexadecimal");
        (PathBuf::from(row["module"].as_str().expect("a module")), address)
    };
    let rows = |key: &str| json[key].as_array().expect("rows").clone();
    let mut exclusive: HashMap<PathBuf, Vec<u64>> = HashMap::new();
    for row in rows("refused").iter().filter(|row| row["reason"].as_str().expect("a reason").contains("exclusive")) {
        let (module, address) = at(row);
        exclusive.entry(module).or_default().push(address);
    }
    for (module, addresses) in &mut exclusive {
        addresses.extend(retried(addresses, words_of(module)));
    }
    let exclusive =
        exclusive.into_iter().flat_map(|(module, addresses)| addresses.into_iter().map(move |at| (module.clone(), at)));
    let mut bases: HashMap<PathBuf, u64> = HashMap::new();
    let mut place = |(module, address): (PathBuf, u64)| {
        let base = *bases.entry(module.clone()).or_insert_with(|| lowest_address(&module));
        (module, address - base)
    };
    let hits = rows("counts").iter().map(|row| (place(at(row)), row["hits"].as_u64().expect("hits"))).collect();
    (hits, exclusive.map(place).collect(), status)
}

/// The words of a file's code by their addresses; none of what is no file, the kernel's vdso.
fn words_of(module: &Path) -> impl Fn(u64) -> Option<u32> {
    let bytes = std::fs::read(module).unwrap_or_default();
    move |address| {
        let file = object::File::parse(&*bytes).ok()?;
        let word = file.segments().find_map(|segment| segment.data_range(address, 4).ok()?)?;
        Some(u32::from_le_bytes(word.try_into().ok()?))
    }
}

/// The lowest address that a file's headers number: 0 where it is loaded anywhere. The kernel's vdso is such a one.
fn lowest_address(module: &Path) -> u64 {
    let Ok(bytes) = std::fs::read(module) else { return 0 };
    let file = object::File::parse(&*bytes).expect("an ELF file");
    file.segments().map(|segment| segment.address() & !0xfff).min().unwrap_or(0)
}
