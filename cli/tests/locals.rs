//! Variables in scope: `ntrace trace --locals` and the library tell what gdb does.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{build, build_go, build_with, ntrace, scratch, source, stderr, stdout, trace};
use serde_json::json;
use ubp::{Address, EventKind, Session, Spec};
use ubp_symbols::values::{Data, Held, variables};
use ubp_symbols::{Images, Modules, Pattern, by_line, by_name};

const SOURCE: &str = "locals.c";
/// The marked lines, in the order in which the program first comes to them.
const MARKS: [&str; 14] = [
    "inmost", "busy", "caller", "loop", "numbers", "inner", "middle", "outer", "compound", "handed", "handing",
    "passing", "again", "recurse",
];

/// A frame.
#[derive(Clone, Default)]
struct Frame {
    function: String,
    line: usize,
    /// The variables by their names.
    told: BTreeMap<String, String>,
}

/// Where the program stopped, as the distance from `main`, and its frames.
type Stop = (i64, Vec<Frame>);

/// The line of a program's source that a comment marks.
fn line(name: &str, mark: &str) -> u64 {
    let text = fs::read_to_string(source(name)).unwrap();
    let found = text.lines().position(|line| line.contains(&format!("/* {mark} */")));
    found.expect("a marked line") as u64 + 1
}

/// What gdb tells at the marks: every frame up to `main`.
fn by_gdb(program: &Path) -> Vec<Stop> {
    let script = scratch("gdb.script");
    let mut commands = String::from(
        "set pagination off\nset confirm off\nset width 0\nset debuginfod enabled off\nset print frame-arguments all\n\
         set print entry-values no\nset print address on\nset print repeats unlimited\nset print symbol off\nset print null-stop on\n",
    );
    for mark in MARKS {
        commands += &format!("tbreak {SOURCE}:{}\n", line(SOURCE, mark));
    }
    commands += "run\n";
    commands += &"printf \"@stop %ld\\n\", (long)$pc - (long)&main\nbt full\ncontinue\n".repeat(MARKS.len());
    fs::write(&script, commands).unwrap();
    let run = "exec timeout -s KILL 100 gdb -q -nx -batch -x \"$1\" \"$2\" 2>&1";
    let output = Command::new("sh").args(["-c", run, "gdb"]).arg(&script).arg(program).output().unwrap();
    let said = stdout(&output);
    // Two marks may be one address for the compiler. The program has ended before the last of as many stops then.
    let stops = said.split("@stop ").skip(1).filter_map(|stop| stop.split_once('\n'));
    stops.map(|(at, text)| (at.parse().unwrap(), frames(text))).collect()
}

/// The frames of `bt full`: a line `#1  0x… in name (a=1, b=2) at file:line`, and a line `name = value` for each variable.
fn frames(text: &str) -> Vec<Frame> {
    let (mut frames, mut outer): (Vec<Frame>, Vec<BTreeMap<String, String>>) = Default::default();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix('#') {
            let head = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim();
            let head = head.split_once(" in ").map_or(head, |(_, head)| head);
            let (name, rest) = head.split_once(" (").unwrap();
            let (arguments, place) = rest.rsplit_once(") at ").unwrap();
            let line = place.rsplit_once(':').unwrap().1.parse().unwrap();
            let mut given = BTreeMap::new();
            // A comma within a value has no `=` behind it but in a structure.
            let mut depth = 0;
            let split = |c: char| {
                depth += i32::from(c == '{') - i32::from(c == '}');
                c == ',' && depth == 0
            };
            for argument in arguments.split(split).filter(|argument| !argument.trim().is_empty()) {
                let (name, value) = argument.trim().split_once('=').unwrap();
                given.insert(name.to_string(), plain(value));
            }
            frames.push(Frame { function: name.to_string(), line, told: BTreeMap::new() });
            outer.push(given);
        } else if let Some((name, value)) = line.strip_prefix("        ").and_then(|line| line.split_once(" = ")) {
            // Inner blocks come first.
            frames.last_mut().unwrap().told.entry(name.to_string()).or_insert_with(|| plain(value));
        }
    }
    for (frame, given) in frames.iter_mut().zip(outer) {
        for (name, value) in given {
            frame.told.entry(name).or_insert(value);
        }
    }
    frames
}

/// gdb's text of a value, without what two runs of a program need not have in common.
fn plain(value: &str) -> String {
    let value = value.trim();
    match value.strip_prefix("0x") {
        Some(rest) => match rest.split_once(' ') {
            Some((_, text)) if text.starts_with('"') => text.to_string(),
            _ if rest == "0" => "0x0".into(),
            _ => "an address".into(),
        },
        // A character is a number, and the character behind it.
        None => value.split_once(" '").map_or(value, |(number, _)| number).to_string(),
    }
}

/// A value as gdb writes it.
fn written(data: &Data) -> String {
    let all = |parts: Vec<String>| format!("{{{}}}", parts.join(", "));
    match data {
        Data::Double(bits) => format!("{}", f64::from_bits(*bits)),
        Data::Single(bits) => format!("{}", f32::from_bits(*bits)),
        Data::Character(character) => u32::from(*character).to_string(),
        Data::Pointer { address: 0, .. } => "0x0".into(),
        Data::Pointer { text: Some(text), .. } => format!("{text:?}"),
        Data::Pointer { .. } => "an address".into(),
        Data::List { elements, .. } => all(elements.iter().map(written).collect()),
        Data::Fields(fields) => all(fields.iter().map(|(name, data)| format!("{name} = {}", written(data))).collect()),
        other => other.to_string(),
    }
}

/// What the library tells at the marks: every frame up to `main`.
fn by_library(program: &Path) -> Vec<Stop> {
    let mut session = Session::new().unwrap();
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    let pid = session.spawn(command).unwrap();
    let (mut images, mut modules) = (Images::default(), Modules::new(pid));
    session.resume(pid.leader()).unwrap();
    let mut left: BTreeMap<u64, usize> = BTreeMap::new();
    let mut stops = Vec::new();
    while let Some(event) = session.wait().unwrap() {
        if matches!(event.kind, EventKind::Loaded(_)) {
            for module in modules.update(&session, &mut images).unwrap() {
                for (number, mark) in MARKS.iter().enumerate().filter(|_| module.image.path() == program) {
                    let sites = by_line(&module.image, SOURCE, line(SOURCE, mark)).sites;
                    for site in sites {
                        let address = module.in_memory(site.address);
                        session.insert(pid, &[Spec::event(Address(address))]).unwrap().remove(0).unwrap();
                        left.insert(address, number);
                    }
                }
            }
        }
        let is_hit = matches!(event.kind, EventKind::Hit { .. });
        let registers = is_hit.then(|| session.registers(event.tid).unwrap());
        if let Some(number) = registers.and_then(|registers| left.get(&registers.pc().0).copied()) {
            left.retain(|_, other| *other != number);
            let (mut frames, frames_at) = (Vec::new(), registers.unwrap().pc().0);
            let mut thread = Held::new(&session, event.pid, event.tid, registers.as_ref().unwrap());
            for frame in modules.stack(&session, event.tid).unwrap() {
                let module = modules.at(frame.inside.0).unwrap();
                let locals = variables(module, &frame, &mut thread).unwrap();
                let told = locals.into_iter().map(|local| (local.value.name, written(&local.value.data)));
                let function = frame.place.function().unwrap().to_string();
                let is_last = function == "main";
                let line = frame.place.line.unwrap().1 as usize;
                frames.push(Frame { function, line, told: told.collect() });
                if is_last {
                    break;
                }
            }
            let module = modules.at(frames_at).unwrap();
            let main = by_name(&module.image, &Pattern::new("main"), 0).sites[0].address;
            stops.push((frames_at.wrapping_sub(module.in_memory(main)) as i64, frames));
        }
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
    }
    stops
}

/// The number of values that both tell, which have to be equal. What the library does not tell, it says so.
fn compare(flags: &[&str], told: &[Stop], expected: &[Stop]) -> usize {
    let text = fs::read_to_string(source(SOURCE)).unwrap();
    let mut equal = 0;
    let names = |frames: &[Frame]| frames.iter().map(|frame| frame.function.clone()).collect::<Vec<_>>();
    for (at, told) in told {
        // Both stop where the program comes to a line for the first time. Of optimized code they may take another instruction.
        let Some((_, expected)) = expected.iter().find(|(other, _)| other == at) else { continue };
        assert_eq!(names(told), names(expected), "{flags:?}");
        for (frame, expected) in told.iter().zip(expected) {
            let place = format!("{flags:?} at {:?} in {}", told[0].line, frame.function);
            for name in expected.told.keys().filter(|name| !frame.told.contains_key(*name)) {
                // gdb also tells what is declared further down in the block.
                let mut rest = text.lines().skip(frame.line);
                assert!(rest.any(|line| line.contains(&format!(" {name} = "))), "{place}: {name} is missing");
            }
            for (name, value) in &frame.told {
                let Some(expected) = expected.told.get(name) else { panic!("{place}: {name} is not there") };
                // gdb shows what happens to lie there, and also finds what a caller gave in a vector register.
                // Of characters with holes between them it writes numbers and letters.
                // A pointer to what lies nowhere has no address.
                if expected.starts_with('{') && !expected.ends_with('}') || expected == "<synthetic pointer>" {
                    continue;
                }
                let is_fraction = expected.parse::<f64>().is_ok_and(|value| value.fract() != 0.0);
                if value == "<not initialized yet>" || value == "<optimized out>" && is_fraction && flags[0] != "-O0" {
                    continue;
                }
                assert_eq!(value, expected, "{place}: {name}");
                equal += 1;
            }
        }
    }
    equal
}

#[test]
fn every_frame_has_the_variables_and_values_that_gdb_tells() {
    if Command::new("gdb").arg("--version").output().is_err() {
        return crossing::skip("every_frame_has_the_variables_and_values_that_gdb_tells", "no gdb");
    }
    for (flags, least) in [
        (["-O0", "-gdwarf-4"], 80),
        (["-O0", "-gdwarf-5"], 80),
        (["-O2", "-gdwarf-4"], 40),
        (["-O2", "-gdwarf-5"], 40),
        (["-Og", "-gdwarf-5"], 40),
    ] {
        let program = build_with("gcc", SOURCE, &flags).expect("gcc builds the program");
        let equal = compare(&flags, &by_library(&program), &by_gdb(&program));
        assert!(equal >= least, "{flags:?}: {equal} values");
    }
}

/// What is between the braces of each line that `ntrace trace --locals` prints at the marks of a program, and what the program says.
fn printed(program: &Path, name: &str, marks: &[&str]) -> (Vec<String>, Vec<String>) {
    let file = scratch("locals");
    let mut command = ntrace();
    command.args(["trace", "--locals", "-o"]).arg(&file);
    for mark in marks {
        command.args(["-b", &format!("{name}:{}", line(name, mark))]);
    }
    let output = command.arg("--").arg(program).stdin(Stdio::null()).output().unwrap();
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    let inside = |line: &str| {
        let (_, rest) = line.split_once(" {").unwrap_or_else(|| panic!("{line}"));
        rest.rsplit_once("} at ").unwrap_or_else(|| panic!("{line}")).0.to_string()
    };
    // A line may have several pieces of code, before and after the loop's condition.
    let mut told: Vec<String> = text.lines().map(inside).collect();
    told.dedup();
    (told, stdout(&output).lines().map(str::to_string).collect())
}

#[test]
fn variables_of_rust_hide_earlier_ones_and_are_those_that_the_program_prints() {
    let out = scratch("locals_rs");
    let path = source("locals.rs");
    let done = Command::new("rustc").args(["--edition", "2024", "-g", "-o"]).arg(&out).arg(path).output();
    if !done.is_ok_and(|done| done.status.success()) {
        return crossing::skip("variables_of_rust_hide_earlier_ones", "no rustc, or it cannot build the program");
    }
    let (told, said) = printed(&out, "locals.rs", &["all"]);
    assert_eq!((told.len(), told), (1, said));
}

#[test]
fn variables_of_go_are_those_that_the_program_prints() {
    let Some(program) = build_go("locals.go", &["-gcflags=-N -l"]) else { return };
    let (told, said) = printed(&program, "locals.go", &["loop", "end"]);
    assert_eq!((told.len(), told), (4, said));
}

#[test]
fn variables_of_cpp_are_those_that_the_program_prints() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let Some(program) = build_with("g++", "locals.cpp", &["-O0", version]) else { return };
        let (told, said) = printed(&program, "locals.cpp", &["all"]);
        let told: Vec<&str> = told.iter().map(|told| told.split_once(", ").unwrap().1).collect();
        assert_eq!((told.len(), told), (1, said.iter().map(String::as_str).collect()));
    }
}

#[test]
fn json_has_the_variables_in_the_form_of_arguments() {
    let program = build(SOURCE, &["-O0"]);
    let location = format!("{SOURCE}:{}", line(SOURCE, "compound"));
    for flags in [&["--locals"][..], &["--locals", "--method", "trap"], &["--locals", "--method", "jump", "--args"]] {
        let (hits, output) = trace(&[&["-b", &location], flags].concat(), &program, &[]);
        assert_eq!(hits.len(), 1, "{flags:?} {}", stderr(&output));
        let locals = hits[0]["locals"].as_array().unwrap();
        let of = |name: &str| locals.iter().find(|local| local["name"] == name).unwrap_or(&json!(null)).clone();
        assert_eq!(of("local"), json!({"name": "local", "type": "pair", "value": {"key": 2, "weight": 0.25}}));
        assert_eq!(of("table")["value"], json!([1, 1, 3, 4]));
        assert_eq!((of("text")["string"].as_str(), of("nothing")["value"].as_str()), (Some("abc"), Some("0x0")));
        assert_eq!(hits[0]["args"].is_null(), !flags.contains(&"--args"));
    }
}

#[test]
fn a_program_without_debug_information_has_no_variables() {
    let program = build_with("gcc", SOURCE, &["-O1", "-g0"]).expect("gcc builds the program");
    let (hits, output) = trace(&["-b", "recurse", "--locals"], &program, &[]);
    assert_eq!(hits.len(), 4, "{}", stderr(&output));
    assert!(hits.iter().all(|hit| hit["locals"] == json!([])), "{hits:?}");
}
