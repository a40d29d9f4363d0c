//! The addresses of locations, in every form.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{build, build_with, count, count_by, machine, ntrace, run, scratch, source, stderr, trace};

/// Returns the value of a symbol as `nm` prints it.
fn address(program: &Path, symbol: &str) -> u64 {
    let output = Command::new("nm").arg(program).output().expect("nm runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.ends_with(&format!(" {symbol}"))).expect("the symbol");
    u64::from_str_radix(line.split_whitespace().next().unwrap(), 16).unwrap()
}

/// Returns the number of the line in a program's source that contains a text.
fn line_of(name: &str, text: &str) -> usize {
    let source = fs::read_to_string(source(name)).unwrap();
    1 + source.lines().position(|line| line.contains(text)).expect("the line")
}

#[test]
fn globs_and_offsets_and_modules_find_their_functions() {
    // The landing pad at the start of every function has four bytes.
    let program = build("calls.c", &[machine::MARKS]);
    let module = program.file_name().unwrap().to_str().unwrap();
    assert_eq!(count(&["mid*"], &[], &program, &["4"]).at("!middle"), 4);
    assert_eq!(count(&[&format!("{module}!work")], &[], &program, &["4"]).total, 4);
    let (hits, _) = trace(&["-b", "middle+0x4"], &program, &["4"]);
    assert!(hits.iter().all(|hit| hit["offset"] == 4 && hit["symbol"] == "middle"));
    assert_eq!(hits.len(), 4);
}

#[test]
fn an_address_means_the_programs_own_numbering_wherever_it_is_loaded() {
    for flags in [&["-no-pie", "-fno-pie"][..], &["-pie", "-fPIE"]] {
        let program = build("calls.c", flags);
        let address = address(&program, "work");
        let module = program.file_name().unwrap().to_str().unwrap();
        for location in [format!("{address:#x}"), format!("{module}!{address:#x}"), format!("{module}+{address:#x}")] {
            assert_eq!(count(&[&location], &[], &program, &["6"]).total, 6, "{location} {flags:?}");
        }
    }
}

#[test]
fn a_line_means_every_inlined_copy_of_it() {
    let text = fs::read_to_string(source("lines.c")).unwrap();
    let line = 1 + text.lines().position(|line| line.contains("/* HERE")).unwrap();
    for flags in [&["-O2"][..], &["-O2", "-gdwarf-4"]] {
        let program = build("lines.c", flags);
        let (hits, output) = trace(&["-b", &format!("lines.c:{line}")], &program, &[]);
        let functions: Vec<&str> = hits.iter().map(|hit| hit["symbol"].as_str().unwrap()).collect();
        assert!(functions.contains(&"one") && functions.contains(&"two"), "{functions:?} {}", stderr(&output));
        assert!(hits.iter().all(|hit| hit["line"] == line), "{hits:?}");
    }
}

#[test]
fn copies_of_a_function_in_others_are_found_by_its_name() {
    let program = build("copies.c", &["-O1"]);
    let of_module = format!("{}!doubled@inlined", program.display());
    for location in ["doubled@inlined", "doub*@inlined", &of_module] {
        let counts = count(&[location], &[], &program, &[]);
        assert_eq!((counts.rows.len(), counts.total), (2, 2), "{location}: {}", stderr(&counts.output));
    }
    let told = |location: &str, flags: &[&str]| {
        let program = build("copies.c", flags);
        let output = run(&["count", "-b", location, "--", program.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(125), "{}", stderr(&output));
        stderr(&output)
    };
    let only = " has only copies in other functions; 'doubled@inlined' means all of them";
    assert!(told("doubled", &["-O1"]).contains(only));
    assert!(told("first@inlined", &["-O1"]).contains("'first@inlined': no copy of 'first' in another function of "));
    assert!(told("doubled@inlined", &["-O1", "-g0"]).contains(" has no debug information"));
}

#[test]
fn demangled_names_of_cpp_are_found_with_and_without_parameters() {
    let Some(program) = build_with("g++", "names.cpp", &["-O1"]) else { return };
    assert_eq!(count(&["ns::Type::add"], &[], &program, &[]).total, 4);
    assert_eq!(count(&["ns::Type::add(int)"], &[], &program, &[]).total, 3);
    assert_eq!(count(&["ns::*"], &[], &program, &[]).total, 4);
    assert_eq!(count(&["_ZN2ns4Type3addEi"], &[], &program, &[]).at("!ns::Type::add(int)"), 3);
}

#[test]
fn demangled_names_of_rust_are_found_in_both_manglings() {
    for mangling in ["legacy", "v0"] {
        let flag = format!("symbol-mangling-version={mangling}");
        let flags = ["-O", "-C", &flag, "-Z", "unstable-options"];
        let flags = if mangling == "legacy" { &flags[..] } else { &flags[..3] };
        let Some(program) = build_with("rustc", "names.rs", flags) else { continue };
        let name = program.file_name().unwrap().to_str().unwrap().replace('-', "_");
        let counts = count(&["*::deep::inner::work"], &[], &program, &[]);
        assert_eq!(counts.total, 6, "{name}");
    }
}

#[test]
fn an_indirect_function_means_the_implementation_that_was_chosen() {
    for flags in [&[][..], &["-static"], &["-fPIE", "-pie"]] {
        let program = build("ifunc.c", flags);
        assert_eq!(count(&["chosen"], &[], &program, &[]).total, 9, "{flags:?}");
    }
}

#[test]
fn a_library_that_is_loaded_late_is_found_with_its_constructors() {
    let library = build("plugin.c", &["-shared", "-fPIC"]);
    let program = build("host.c", &["-ldl"]);
    let counts = count(&["plugged"], &[], &program, &[library.to_str().unwrap()]);
    // The library is loaded twice. Each time, its constructor calls the function once, and the program four times.
    assert_eq!(counts.total, 10);
    assert_eq!(counts.rows.len(), 1, "{:?}", counts.rows);
}

#[test]
fn the_stub_of_another_modules_function_is_a_location_of_its_own() {
    for flags in [&[][..], &[machine::MARKS, "-Wl,-z,ibtplt"], &["-no-pie", "-fno-pie"]] {
        let program = build("calls.c", flags);
        let counts = count(&["atoi@plt", "strtol@plt"], &[], &program, &["3"]);
        assert_eq!(counts.total, 1, "{flags:?} {:?}", counts.rows);
    }
}

#[test]
fn names_at_one_address_share_one_breakpoint() {
    let program = build("calls.c", &["-Wl,--defsym=labour=work"]);
    let counts = count(&["work", "labour"], &[], &program, &["5"]);
    assert_eq!(counts.total, 5);
    let names = counts.rows[0]["names"].as_array().unwrap();
    assert!(names.contains(&"work".into()) && names.contains(&"labour".into()), "{names:?}");
}

#[test]
fn functions_of_a_stripped_program_are_found_by_its_compressed_symbols_and_by_its_debug_file() {
    let whole = build("calls.c", &[]);
    let text = whole.to_str().unwrap();
    let run = |command: &str, args: &[&str]| {
        let done = Command::new(command).args(args).output().unwrap_or_else(|error| panic!("{command}: {error}"));
        assert!(done.status.success(), "{command} {args:?}: {}", stderr(&done));
    };
    let (mini, stripped) = (scratch("mini"), scratch("stripped-mini"));
    run("objcopy", &["-S", "--keep-symbol=work", "--keep-symbol=middle", text, mini.to_str().unwrap()]);
    run("objcopy", &["--only-keep-debug", text, &format!("{}.all", mini.display())]);
    let keep = format!("{}.all", mini.display());
    run("objcopy", &["--remove-section=.debug*", &keep, mini.to_str().unwrap()]);
    run("xz", &["-k", "-f", mini.to_str().unwrap()]);
    let data = format!(".gnu_debugdata={}.xz", mini.display());
    run("objcopy", &["-S", "--add-section", &data, text, stripped.to_str().unwrap()]);
    assert_eq!(count(&["work"], &[], &stripped, &["5"]).at("!work"), 5);

    let (debug, stripped) = (scratch("linked.debug"), scratch("stripped-linked"));
    run("objcopy", &["--only-keep-debug", text, debug.to_str().unwrap()]);
    let link = format!("--add-gnu-debuglink={}", debug.display());
    run("objcopy", &["-S", &link, text, stripped.to_str().unwrap()]);
    assert_eq!(count(&["work"], &[], &stripped, &["5"]).at("!work"), 5);
    let line = line_of("calls.c", "return n + text");
    assert_eq!(count(&[&format!("calls.c:{line}")], &[], &stripped, &["5"]).total, 5);
}

#[test]
fn a_debug_file_that_debuginfod_fetched_before_is_found_by_its_build_id() {
    let program = build("calls.c", &["-Wl,--build-id=0x00112233445566778899aabbccddeeff"]);
    let (stripped, cache) = (scratch("stripped-fetched"), scratch("debuginfod"));
    let folder = cache.join("00112233445566778899aabbccddeeff");
    fs::create_dir_all(&folder).unwrap();
    let objcopy = |args: &[&str]| assert!(Command::new("objcopy").args(args).status().unwrap().success());
    let path = program.to_str().unwrap();
    objcopy(&["--only-keep-debug", path, folder.join("debuginfo").to_str().unwrap()]);
    objcopy(&["-S", path, stripped.to_str().unwrap()]);
    let mut command = ntrace();
    command.env("DEBUGINFOD_CACHE_PATH", &cache);
    let line = format!("calls.c:{}", line_of("calls.c", "return n + text"));
    assert_eq!(count_by(command, &["work", &line], &[], &stripped, &["5"]).at("!work"), 5);
}

#[test]
fn what_is_not_found_is_named_with_what_was_searched_and_what_is_near() {
    let program = build("calls.c", &[]);
    let fixed = build("calls.c", &["-static"]);
    let text = |location: &str, program: &Path| {
        let output = run(&["count", "-b", location, "--", program.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(125), "{location}: {}", stderr(&output));
        stderr(&output)
    };
    let message = text("midle", &program);
    assert!(message.contains("no such symbol") && message.contains("similar: middle"), "{message}");
    assert!(message.contains("libc.so.6"), "{message}");
    let message = text("midle", &fixed);
    assert!(message.contains("statically linked") && !message.contains("to standard error"), "{message}");
    assert!(!message.contains("stripped"), "{message}");
    let stripped = build("calls.c", &["-s"]);
    let message = text("midle", &stripped);
    let name = stripped.file_name().unwrap().to_str().unwrap();
    assert!(message.contains(&format!("; {name} is stripped: take an address of its file ({name}!0x")), "{message}");
    assert!(text("not_code", &program).contains("no code"));
    assert!(text("nosuch!work", &program).contains("no module 'nosuch'"));
    assert!(
        text("calls.c:999", &program)
            .contains("neither line 999 nor a later line has code; the last line with code is ")
    );
    assert!(text("other.c:1", &program).contains("no source file 'other.c'"));
}

#[test]
fn an_address_inside_an_instruction_is_warned_of() {
    let program = build("calls.c", &[machine::MARKS]);
    let output = run(&["count", "-b", "quiet+1", "--no-follow", "--", program.to_str().unwrap(), "0"]);
    assert!(stderr(&output).contains("inside the instruction at"), "{}", stderr(&output));
}

#[test]
fn a_module_is_meant_by_its_name_and_by_any_path_that_leads_to_its_file() {
    let program = scratch("a program");
    // A process that another test makes meanwhile would have the copy's descriptor, and nobody executes a file that is open for writing.
    assert!(Command::new("cp").args([&build("calls.c", &[]), &program]).status().unwrap().success());
    let link = scratch("link");
    std::os::unix::fs::symlink(&program, &link).unwrap();
    let (name, path, link) = (program.file_name().unwrap().to_str().unwrap(), program.display(), link.display());
    for location in [
        format!("{name}!work"),
        format!("{name}:work"),
        format!("{path}!work"),
        format!("{path}:work"),
        format!("{link}!work"),
        format!("{link}:work"),
        format!("{}/../tmp/{name}:work", program.parent().unwrap().display()),
        format!("{name}!calls.c:{}", line_of("calls.c", "return n + text")),
    ] {
        assert_eq!(count(&[&location], &[], &program, &["3"]).total, 3, "{location}");
    }
    // The path that ldd(1) prints, and the path of the file if /lib is a link to /usr/lib.
    let library = common::c_library();
    let real = fs::canonicalize(&library).unwrap();
    let atoi = |location: &str| count(&[location], &[], &program, &["3"]).rows.len();
    for module in ["libc", "libc.so", "libc.so.6", &library, real.to_str().unwrap()] {
        assert_eq!(atoi(&format!("{module}:atoi")), 1, "{module}");
        assert_eq!(atoi(&format!("{module}!atoi")), 1, "{module}");
    }
}

#[test]
fn a_program_in_memory_is_a_module_of_the_name_that_it_was_given() {
    let (program, starter) = (build("calls.c", &[]), build("memfd.c", &[]));
    for module in ["memfd:in memory", "/memfd:in memory (deleted)", "in memory"] {
        let location = format!("{module}!work");
        let counts = count(&[&location], &[], &starter, &[program.to_str().unwrap(), "3"]);
        assert_eq!(counts.total, 3, "{module}: {}", stderr(&counts.output));
        assert_eq!(counts.rows[0]["location"], "memfd:in memory!work");
    }
}

#[test]
fn a_program_that_the_loader_is_told_to_run_is_found_and_what_it_loads_later() {
    let loader = Path::new(machine::LOADER);
    let program = build("calls.c", &[]);
    let counts = count(&["work", "libc!printf"], &[], loader, &[program.to_str().unwrap(), "3"]);
    assert_eq!((counts.at("!work"), counts.at("!printf")), (3, 1));
    assert!(!stderr(&counts.output).contains("ntrace:"), "{}", stderr(&counts.output));
    let library = build("plugin.c", &["-shared", "-fPIC"]);
    let host = build("host.c", &["-ldl"]);
    let counts = count(&["plugged"], &[], loader, &[host.to_str().unwrap(), library.to_str().unwrap()]);
    assert_eq!(counts.total, 10);
}

#[test]
fn a_line_without_code_means_the_next_that_has_some_and_this_is_told() {
    let program = build("calls.c", &[]);
    let line = line_of("calls.c", "return n + text");
    let text = fs::read_to_string(source("calls.c")).unwrap();
    let blank = 1 + text.lines().position(|line| line.trim().is_empty()).expect("a blank line");
    let counts = count(&[&format!("calls.c:{blank}")], &[], &program, &["3"]);
    assert_eq!(counts.at("!work"), 3);
    let (told, next) = (stderr(&counts.output), blank + 1);
    assert!(told.contains(&format!("line {blank} has no code; line {next} is the next that has")), "{told}");
    let exact = count(&[&format!("calls.c:{line}")], &[], &program, &["3"]);
    assert!(!stderr(&exact.output).contains("ntrace:"), "{}", stderr(&exact.output));
}
