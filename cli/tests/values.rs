//! Arguments and results with their types: ntrace prints what the program itself says of them.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{build_go, build_with, ntrace, scratch, source, stderr, stdout, trace};

/// The calls that ntrace tells, as far as the program itself prints them.
fn told(program: &Path, locations: &[&str]) -> (Vec<String>, Vec<String>) {
    let file = scratch("values");
    let mut command = ntrace();
    command.args(["calls", "--args", "--return", "-o"]).arg(&file);
    for location in locations {
        command.args(["-b", location]);
    }
    let output = command.arg("--").arg(program).output().unwrap();
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    let call = |line: &str| {
        let (_, call) = line.split_once('!').unwrap_or_else(|| panic!("{line}"));
        let call = call.rsplit_once(" at ").map_or(call, |(call, _)| call);
        call.replace("main.", "")
    };
    let said = stdout(&output).lines().map(str::to_string).collect();
    (text.lines().map(call).collect(), said)
}

/// Builds a program of Rust. `None`: the test `name` is skipped.
fn build_rust(name: &str, file: &str, flags: &[&str]) -> Option<PathBuf> {
    let out = scratch(&file.replace('.', "_"));
    let mut command = Command::new("rustc");
    let done = command.args(["--edition", "2024", "-g", "-o"]).arg(&out).args(flags).arg(source(file)).output();
    if !done.is_ok_and(|done| done.status.success()) {
        crossing::skip(name, "no rustc, or it cannot build the program");
        return None;
    }
    Some(out)
}

/// Removes the types that a demangled name has behind it.
fn without_types(call: &str) -> String {
    match call.split_once(")(") {
        Some((name, rest)) => format!("{}({rest}", name.split('(').next().unwrap()),
        None => call.to_string(),
    }
}

#[test]
fn arguments_and_results_of_c_are_those_that_the_program_prints() {
    for flags in
        [&["-O0", "-g", "-gdwarf-5"][..], &["-O2", "-g", "-gdwarf-5"], &["-O0", "-gdwarf-4"], &["-O2", "-gdwarf-4"]]
    {
        let program = build_with("gcc", "values.c", flags).expect("gcc builds the program");
        let (told, said) = told(&program, &["scalars", "structures", "pointers", "many", "behind", "nothing"]);
        assert_eq!((told.len(), &told), (6, &said), "{flags:?}");
    }
}

#[test]
fn strings_vectors_and_classes_of_cpp_are_those_that_the_program_prints() {
    for flags in
        [&["-O0", "-g"][..], &["-O2", "-g"], &["-O0", "-gdwarf-4"], &["-O1", "-g", "-D_GLIBCXX_USE_CXX11_ABI=0"]]
    {
        let Some(program) = build_with("g++", "values.cpp", &[&["-std=c++17"], flags].concat()) else { return };
        let (told, said) = told(&program, &["texts", "containers", "counted", "behind"]);
        let told: Vec<String> = told.iter().map(|call| without_types(call)).collect();
        assert_eq!((told.len(), told), (4, said), "{flags:?}");
    }
}

#[test]
fn slices_strings_and_enumerations_of_rust_are_those_that_the_program_prints() {
    let name = "slices_strings_and_enumerations_of_rust_are_those_that_the_program_prints";
    let Some(program) = build_rust(name, "values.rs", &[]) else { return };
    let (told, said) = told(&program, &["texts", "options", "shapes", "behind"]);
    assert_eq!((told.len(), told), (6, said));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn results_of_rust_in_memory_are_those_that_the_program_prints_also_where_it_is_optimized() {
    let name = "results_of_rust_in_memory_are_those_that_the_program_prints_also_where_it_is_optimized";
    for flags in [&[][..], &["-O"]] {
        let Some(program) = build_rust(name, "memory.rs", flags) else { return };
        let functions = ["memory::plain", "memory::kind", "memory::text", "memory::result", "unit"];
        let (told, said) = told(&program, &functions);
        assert_eq!((told.len(), told), (15, said), "{flags:?}");
    }
}

#[test]
fn strings_and_slices_of_go_in_its_registers_are_those_that_the_program_prints() {
    for flags in [&["-gcflags=-N -l"][..], &[]] {
        let Some(program) = build_go("values.go", flags) else { return };
        let (mut told, said) = told(&program, &["main.work", "main.behind"]);
        // A function enters its first instruction once more when its stack has grown.
        told.retain(|call| !call.ends_with('{'));
        assert_eq!((told.len(), told), (3, said), "{flags:?}");
    }
}

#[test]
fn json_has_names_types_and_values() {
    let program = build_with("gcc", "values.c", &["-O1", "-g"]).expect("gcc builds the program");
    for method in ["auto", "trap"] {
        let (hits, output) = trace(&["-b", "scalars", "-b", "structures", "--args", "--method", method], &program, &[]);
        assert_eq!(hits.len(), 2, "{}", stderr(&output));
        let args = &hits[0]["args"];
        assert_eq!(args[3], serde_json::json!({ "name": "l", "type": "long long int", "value": -4_000_000_000_i64 }));
        assert_eq!(args[5], serde_json::json!({ "name": "d", "type": "double", "value": 2.25 }));
        assert_eq!((&args[6]["type"], &args[6]["string"]), (&"const char*".into(), &"txt".into()));
        let big = &hits[1]["args"][2];
        assert_eq!(big["value"], serde_json::json!({ "v": [1, -2, 3, 4], "name": "nam" }));
    }
}

#[test]
fn a_structure_behind_a_pointer_is_the_same_by_a_jump_and_by_a_trap_and_null_leads_to_none() {
    let program = build_with("gcc", "values.c", &["-O1", "-g"]).expect("gcc builds the program");
    for flags in [&["--method", "auto"][..], &["--method", "trap"], &["--return"]] {
        let (lines, output) = trace(&[&["-b", "flat", "-b", "behind", "--args"], flags].concat(), &program, &[]);
        let hits: Vec<_> = lines.iter().filter(|line| line["event"] == "hit").collect();
        let [flat, behind] = hits[..] else { panic!("{lines:?} {}", stderr(&output)) };
        let (flat, behind) = (&flat["args"][0], &behind["args"]);
        assert_eq!(flat["target"], serde_json::json!({ "a": -7, "b": 4.25 }), "{flags:?}: {flat}");
        let item = &behind[0]["target"];
        assert_eq!((&item["name"]["string"], &item["count"]), (&"sugar".into(), &10.into()), "{flags:?}: {behind}");
        assert!(item["next"].as_str().unwrap().starts_with("0x") && behind[0]["value"].is_string(), "{behind}");
        for (number, name, value) in [(1, "none", "0x0"), (2, "wild", "0x10000")] {
            let told = serde_json::json!({ "name": name, "type": "item*", "value": value });
            assert_eq!(behind[number], told, "{flags:?}");
        }
        let returned = lines.iter().find(|line| line["event"] == "return" && line["symbol"] == "behind");
        assert_eq!(returned.is_some(), flags == ["--return"], "{lines:?}");
        assert!(returned.is_none_or(|line| line["return"]["target"]["name"]["string"] == "salt"), "{returned:?}");
    }
}

#[test]
fn functions_of_the_c_library_have_the_prototypes_of_a_table() {
    let (hits, output) = trace(
        &["-b", "libc!open64", "-b", "libc!openat", "-b", "libc!read", "--args"],
        Path::new("/bin/dd"),
        &["if=/etc/hostname", "bs=777", "status=none"],
    );
    let named = |hit: &serde_json::Value, name: &str| {
        hit["args"].as_array().unwrap().iter().find(|arg| arg["name"] == name).cloned().unwrap_or_default()
    };
    let opened = hits.iter().find(|hit| named(hit, "path")["string"] == "/etc/hostname");
    let opened = opened.unwrap_or_else(|| panic!("{hits:?} {}", stderr(&output)));
    assert_eq!(named(opened, "flags")["value"], "0x0");
    let read = hits.iter().find(|hit| hit["symbol"] == "read" && named(hit, "count")["value"] == 777);
    assert!(read.is_some(), "{hits:?}");
}
