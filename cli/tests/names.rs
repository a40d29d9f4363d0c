//! The names of functions, in every form.

mod common;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use common::{build, build_go, build_with, count, run, source, stderr};

/// Checks that each location finds the named functions with the given numbers of hits.
#[track_caller]
fn check(program: &Path, cases: &[(&str, &[(&str, u64)])]) {
    for (location, expected) in cases {
        let counts = count(&[location], &[], program, &[]);
        let name = |row: &serde_json::Value| row["location"].as_str().unwrap().split_once('!').unwrap().1.to_string();
        let mut found: Vec<(String, u64)> =
            counts.rows.iter().map(|row| (name(row), row["hits"].as_u64().unwrap())).filter(|row| row.1 > 0).collect();
        found.sort_unstable();
        let found: Vec<(&str, u64)> = found.iter().map(|(name, hits)| (name.as_str(), *hits)).collect();
        assert_eq!(&found[..], *expected, "{location}: {}", stderr(&counts.output));
    }
}

/// Builds the C++ program once.
fn cpp() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM.get_or_init(|| build_with("gcc", "instances.cpp", &["-O1", "-fno-rtti", "-fno-exceptions"])).as_deref()
}

#[test]
fn functions_of_cpp_are_found_by_readable_names_whole_and_short() {
    let Some(program) = cpp() else { return };
    let put = [("Holder<Pair<int, Pair<int, char> > >::put(Pair<int, Pair<int, char> > const&)", 3)];
    check(
        program,
        &[
            ("get<true>", &[("int get<true>()", 6)]),
            ("get", &[("int get<false>()", 3), ("int get<true>()", 6)]),
            ("int get<true>()", &[("int get<true>()", 6)]),
            ("wide<__int128>", &[("int wide<__int128>(__int128)", 3)]),
            ("c16(char16_t)", &[("c16(char16_t)", 3)]),
            ("over(const char *)", &[("over(char const*)", 3)]),
            ("over(char const *)", &[("over(char const*)", 3)]),
            ("over", &[("over(char const*)", 3), ("over(int)", 3)]),
            ("tagged", &[("tagged[abi:cxx11](int)", 3)]),
            ("tagged(int)", &[("tagged[abi:cxx11](int)", 3)]),
            ("*tagged[abi:cxx11]*", &[("tagged[abi:cxx11](int)", 3)]),
            ("(anonymous namespace)::hidden", &[("(anonymous namespace)::hidden(int)", 3)]),
            ("main::{lambda()#1}::operator()", &[("main::{lambda()#1}::operator()() const", 3)]),
            ("main::{lambda*", &[("main::{lambda()#1}::operator()() const", 3)]),
            ("Holder<Pair<int,Pair<int,char>>>::put", &put),
            ("Holder<Pair<int, Pair<int, char>>>::put(const Pair<int, Pair<int, char>>&)", &put),
            ("Holder::put", &put),
        ],
    );
}

#[test]
fn operators_of_cpp_are_found_by_their_signs() {
    let Some(program) = cpp() else { return };
    check(
        program,
        &[
            ("Box::operator[]", &[("Box::operator[](int)", 3)]),
            ("Box::operator[]*", &[("Box::operator[](int)", 3)]),
            ("Box::operator new[]", &[("Box::operator new[](unsigned long)", 3)]),
            ("Box::operator!", &[("Box::operator!() const", 3)]),
            ("Box::operator!=", &[("Box::operator!=(Box const&) const", 3)]),
            ("Box::operator!=(Box const&) const", &[("Box::operator!=(Box const&) const", 3)]),
            ("Box::operator->", &[("Box::operator->()", 3)]),
            ("Box::operator*", &[("Box::operator*()", 3)]),
            (r"Box::operator\*", &[("Box::operator*()", 3)]),
            ("Box::operator<", &[("Box::operator<(int)", 3)]),
            ("Box::operator bool", &[("Box::operator bool() const", 3)]),
        ],
    );
}

#[test]
fn a_thunk_is_left_out_of_its_functions_hits_and_told() {
    let Some(program) = cpp() else { return };
    let thunk = "non-virtual thunk to Both::second()";
    check(
        program,
        &[(thunk, &[(thunk, 3)]), ("*thunk to Both*", &[(thunk, 3)]), ("Both::second", &[("Both::second()", 3)])],
    );
    let counts = count(&["Both::second"], &[], program, &[]);
    assert!(stderr(&counts.output).contains(&format!("left out: {thunk}")), "{}", stderr(&counts.output));
}

#[test]
fn functions_of_rust_are_found_by_readable_names_whole_and_short() {
    let Some(program) =
        build_with("rustc", "instances.rs", &["-O", "-C", "symbol-mangling-version=v0", "--crate-name", "r"])
    else {
        return;
    };
    let every = [("r::app::same::<&str>", 3), ("r::app::same::<f64>", 3), ("r::app::same::<u8>", 3)];
    let go = [("<r::Alone as r::Go>::go", 3), ("<u32 as r::Go>::go", 3)];
    let take = [("<r::app::Around<&str>>::take", 3), ("<r::app::Around<u16>>::take", 3)];
    check(
        &program,
        &[
            ("r::app::same::<u8>", &every[2..]),
            ("same::<u8>", &every[2..]),
            ("r::app::same", &every),
            ("app::same", &every),
            ("<u32 as r::Go>::go", &go[1..]),
            ("r::Go::go", &go),
            ("r::Alone::go", &go[..1]),
            ("r::app::Around::take", &take),
            ("<r::app::Around<u16>>::take", &take[1..]),
            ("r::main::{closure#0}", &[("r::main::{closure#0}", 3)]),
            ("r::main::{closure*", &[("r::main::{closure#0}", 3)]),
            ("r::größe", &[("r::größe", 3)]),
            ("r::gr??e", &[("r::größe", 3)]),
        ],
    );
}

#[test]
fn functions_of_go_are_found_by_their_names_whole_and_without_types() {
    let Some(program) = build_go("instances.go", &[]) else { return };
    let sum = |location: &str| count(&[location], &[], &program, &[]).total;
    for (location, hits) in [
        ("main.Length", 6),
        ("main.Length[*", 6),
        ("main.Length[...]", 6),
        ("main.(*Counter).Up", 3),
        ("main.Counter.Value", 3),
        ("main.(*List[...]).Push", 6),
        ("main.(*List).Push", 6),
        ("main.main.func1", 3),
        ("main.leaf", 6),
    ] {
        assert_eq!(sum(location), hits, "{location}");
    }
}

#[test]
fn functions_of_go_are_found_in_a_stripped_program() {
    for flags in [&["-ldflags=-s -w"][..], &["-buildmode=pie", "-ldflags=-s -w"]] {
        let Some(program) = build_go("instances.go", flags) else { return };
        check(
            &program,
            &[
                ("main.leaf", &[("main.leaf", 6)]),
                ("main.(*Counter).Up", &[("main.(*Counter).Up", 3)]),
                ("main.main.func*", &[("main.main.func1", 3)]),
            ],
        );
        // Go before 1.24 leaves the types out of the names that it keeps.
        let counts = count(&["main.Length"], &[], &program, &[]);
        let hit: Vec<_> = counts.rows.iter().filter(|row| row["hits"] != 0).collect();
        let is_instance = |row: &&serde_json::Value| row["symbol"].as_str().unwrap().starts_with("main.Length[");
        assert!(hit.len() == 2 && hit.iter().all(is_instance), "{hit:?}");
        assert!(hit.iter().all(|row| row["hits"] == 3), "{hit:?}");
        let text = std::fs::read_to_string(source("instances.go")).unwrap();
        let line = 1 + text.lines().position(|line| line.contains("return leaf(n)")).expect("the line");
        let counts = count(&[&format!("instances.go:{line}")], &[], &program, &[]);
        assert!(
            counts.rows.iter().all(|row| row["line"] == line && row["symbol"] == "main.middle"),
            "{:?}",
            counts.rows
        );
        assert!(counts.total >= 3, "{:?}", counts.rows);
    }
}

#[test]
fn the_clones_of_a_function_are_found_by_its_name() {
    let program = build("clones.c", &[]);
    let all = [("work", 2), ("work.cold", 2), ("work.constprop.0", 2), ("work.isra.0", 2), ("work.part.0", 2)];
    check(&program, &[("work", &all), ("work.isra.0", &all[3..4]), ("work.other", &[("work.other", 2)])]);
    // An offset counts from the start of the function itself.
    let counts = count(&["work+0"], &[], &program, &[]);
    assert_eq!(counts.total, 10);
}

#[test]
fn what_is_named_as_missing_comes_near_or_nothing_does() {
    let Some(program) = cpp() else { return };
    let near = |location: &str| {
        let output = run(&["count", "-b", location, "--", program.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(125), "{location}: {}", stderr(&output));
        let text = stderr(&output);
        let last = text.lines().last().unwrap();
        last.split_once("; similar: ").map(|(_, near)| near.to_string()).unwrap_or_default()
    };
    assert_eq!(near("hidden"), "(anonymous namespace)::hidden");
    assert_eq!(near("Both::secnod"), "Both::second");
    assert_eq!(near("BOTH::SECOND"), "Both::second");
    assert_eq!(near("xyzzy_nothing_alike"), "");
    assert_eq!(near("qq"), "");
    assert_eq!(near("nosuch*"), "");
}
