//! The library for C: its header, its symbols, and what C programs do with it.
#![cfg(target_arch = "x86_64")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crossing::skip;

/// Functions of a C library that every freestanding program has.
const FREESTANDING: [&str; 4] = ["memcpy", "memmove", "memset", "memcmp"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../capi")
}

/// The folder of the built libraries.
fn libraries() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut make = Command::new("make");
        make.arg("--directory").arg(folder()).arg("--silent").env("CARGO", cargo).env("OUT", &out);
        done(make.output().expect("make runs"));
        out.join("release")
    })
}

fn done(output: Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {text}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Builds a C program of the library's, named after its flags.
fn build(source: &str, name: &str, flags: &[&str]) -> PathBuf {
    let out = libraries().join(name);
    let mut gcc = Command::new("gcc");
    gcc.args(["-Wall", "-Wextra", "-Werror", "-g", "-I"]).arg(folder().join("include"));
    gcc.arg("-o").arg(&out).arg(folder().join(source)).arg("-L").arg(libraries()).args(flags);
    done(gcc.output().expect("gcc runs"));
    out
}

/// The names of the functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = std::fs::read_to_string(folder().join("include/ntrace.h")).unwrap();
    let functions = header.lines().filter(|line| !line.starts_with([' ', '*', '#', '}']));
    let names = functions.filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next());
    names.filter(|name| name.starts_with("ntrace_")).map(str::to_owned).collect()
}

#[test]
fn a_c_program_gets_the_same_from_the_static_and_the_shared_library() {
    let pedantic = ["-std=c99", "-pedantic"];
    done(
        Command::new(build("tests/check.c", "check-static", &[&pedantic[..], &["-l:libntrace.a"]].concat()))
            .output()
            .unwrap(),
    );
    let shared = build("tests/check.c", "check-shared", &[&pedantic[..], &["-lntrace"]].concat());
    done(Command::new(shared).env("LD_LIBRARY_PATH", libraries()).output().unwrap());
}

#[test]
fn sanitizers_and_valgrind_find_nothing() {
    let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-l:libntrace.a"];
    // The address sanitizer cannot work where its shadow's place is taken, which a random layout may do.
    done(Command::new("setarch").arg("-R").arg(build("tests/check.c", "check-sanitized", &flags)).output().unwrap());
    let plain = build("tests/check.c", "check-valgrind", &["-l:libntrace.a"]);
    match Command::new("valgrind").args(["--quiet", "--error-exitcode=99"]).arg(plain).output() {
        Ok(output) => drop(done(output)),
        Err(error) => skip("sanitizers_and_valgrind_find_nothing", format_args!("valgrind: {error}")),
    }
}

#[test]
fn the_header_is_for_cpp_too() {
    let mut gpp = Command::new("g++");
    gpp.args(["-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++"]);
    match gpp.arg(folder().join("include/ntrace.h")).output() {
        Ok(output) => drop(done(output)),
        Err(error) => skip("the_header_is_for_cpp_too", format_args!("g++: {error}")),
    }
}

#[test]
fn the_shared_library_exports_what_the_header_declares_and_each_symbol_has_a_version() {
    let listed =
        done(Command::new("nm").args(["-D", "--defined-only"]).arg(libraries().join("libntrace.so")).output().unwrap());
    let names = listed.lines().filter_map(|line| line.rsplit(' ').next()).filter(|name| name.starts_with("ntrace_"));
    let exported: BTreeSet<String> = names
        .map(|name| name.split_once("@@NTRACE_").unwrap_or_else(|| panic!("{name} has no version")).0.to_owned())
        .collect();
    assert!(declared().len() >= 10, "{:?}", declared());
    assert_eq!(exported, declared());
    // Nothing else is exported.
    let others = listed.lines().filter(|line| line.contains(" T ") && !line.contains(" ntrace_")).count();
    assert_eq!(others, 0, "{listed}");
}

#[test]
fn the_library_needs_no_other_and_cannot_panic() {
    let linked = libraries().join("freestanding.o");
    let mut ld = Command::new("ld");
    ld.args(["--relocatable", "--gc-sections", "-o"]).arg(&linked);
    ld.args(declared().iter().map(|name| format!("--undefined={name}"))).arg(libraries().join("libntrace.a"));
    done(ld.output().expect("ld runs"));
    let undefined = done(Command::new("nm").arg("--undefined-only").arg(&linked).output().unwrap());
    for name in undefined.lines().filter_map(|line| line.rsplit(' ').next()) {
        assert!(FREESTANDING.contains(&name), "the library needs {name}");
    }
    let all = done(Command::new("nm").arg("--demangle").arg(&linked).output().unwrap());
    let panics: Vec<&str> = all.lines().filter(|line| line.contains("panic")).collect();
    assert!(panics.is_empty(), "{panics:?}");
}

#[test]
fn the_example_counts_the_calls_that_the_program_makes() {
    let tracer = build("examples/breakpoint.c", "breakpoint", &["-std=gnu11", "-l:libntrace.a"]);
    let program = libraries().join("called");
    let source = folder().join("tests/called.c");
    done(Command::new("gcc").args(["-O1", "-no-pie", "-o"]).arg(&program).arg(source).output().unwrap());
    // A function that begins with a boosted instruction, a call, a rip-relative load, a jump.
    for function in ["pushes", "calls", "loads", "jumps"] {
        let output = Command::new(&tracer).arg(function).arg(&program).arg("1000").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(7), "{function}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(text, format!("sum 3500\n1000 calls of {function}\n"));
    }
}
