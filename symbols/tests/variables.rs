//! Variables in scope, in any frame of a held thread.

mod common;

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{build, marked};
use ubp::{Address, EventKind, Pid, Session, Spec, Tid};
use ubp_symbols::values::{Data, Held, Local, Node, variables};
use ubp_symbols::{Images, Module, Modules, Pattern, StackFrame, by_line, by_name};

/// Every version of debug information.
const VERSIONS: [&str; 2] = ["-gdwarf-4", "-gdwarf-5"];

/// Where a thread stops.
enum Stop<'a> {
    /// A marked line.
    Mark(&'a str),
    /// A number of bytes from the first instruction of a function.
    Function(&'a str, u64),
}

/// A thread that is held.
struct Here<'a> {
    session: &'a Session,
    modules: &'a mut Modules,
    pid: Pid,
    tid: Tid,
}

impl Here<'_> {
    fn stack(&mut self) -> Vec<StackFrame> {
        self.modules.stack(self.session, self.tid).unwrap()
    }

    fn module(&self, frame: &StackFrame) -> Module {
        self.modules.at(frame.inside.0).unwrap().clone()
    }

    fn locals(&self, frame: &StackFrame) -> Vec<Local> {
        let registers = self.session.registers(self.tid).unwrap();
        let mut thread = Held::new(self.session, self.pid, self.tid, &registers);
        variables(&self.module(frame), frame, &mut thread).unwrap()
    }

    /// The variables of a frame as text: `name=value`.
    fn told(&self, frame: &StackFrame) -> Vec<String> {
        let text = |local: &Local| format!("{}={}", local.value.name, local.value.data);
        self.locals(frame).iter().map(text).collect()
    }

    fn expand(&self, frame: &StackFrame, node: &Node, first: u64) -> Vec<Node> {
        let registers = self.session.registers(self.tid).unwrap();
        let mut thread = Held::new(self.session, self.pid, self.tid, &registers);
        node.expand(&self.module(frame), first, &mut thread)
    }
}

/// Runs a program, and calls `look` where it stops for the first time at each place.
fn stop(program: &Path, stops: &[Stop<'_>], mut look: impl FnMut(usize, &mut Here<'_>)) {
    let mut session = Session::new().unwrap();
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    let pid = session.spawn(command).unwrap();
    let (mut images, mut modules, mut places) = (Images::default(), Modules::new(pid), HashMap::new());
    let mut insert = |session: &mut Session, modules: &mut Modules, places: &mut HashMap<u64, usize>| {
        for module in modules.update(session, &mut images).unwrap() {
            if module.image.path() != program {
                continue;
            }
            for (number, stop) in stops.iter().enumerate() {
                let sites = match stop {
                    Stop::Mark(mark) => by_line(&module.image, "variables.c", marked("variables.c", mark)).sites,
                    Stop::Function(name, offset) => by_name(&module.image, &Pattern::new(name), *offset).sites,
                };
                // A line may have several pieces of code. The first is enough.
                let site = sites.iter().map(|site| site.address).min().expect("code at the place");
                let address = module.in_memory(site);
                session.insert(pid, &[Spec::event(Address(address))]).unwrap().remove(0).unwrap();
                places.insert(address, number);
            }
        }
    };
    insert(&mut session, &mut modules, &mut places);
    session.resume(pid.leader()).unwrap();
    let mut seen = 0;
    while let Some(event) = session.wait().unwrap() {
        match event.kind {
            EventKind::Loaded(_) => insert(&mut session, &mut modules, &mut places),
            EventKind::Hit { .. } => {
                let pc = session.registers(event.tid).unwrap().pc().0;
                if let Some(number) = places.remove(&pc) {
                    let (pid, tid) = (event.pid, event.tid);
                    look(number, &mut Here { session: &session, modules: &mut modules, pid, tid });
                    seen += 1;
                }
            }
            _ => {}
        }
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
    }
    assert_eq!(seen, stops.len(), "stops in {}", program.display());
}

#[test]
fn a_block_has_its_variables_and_hides_outer_ones_of_their_names() {
    let stops = [Stop::Mark("inner"), Stop::Mark("middle"), Stop::Mark("loop"), Stop::Mark("outer")];
    let given = "given={x=8, y=9, low=0, high=0}";
    for version in VERSIONS {
        let program = build("variables.c", &["-O0", version]);
        stop(&program, &stops, |number, here| {
            let frames = here.stack();
            let mut told = here.told(&frames[0]);
            told.sort();
            let mut expected = match number {
                0 => vec![given, "calls=11", "ratio=1.5", "sum=3", "x='c'"],
                1 => vec![given, "calls=11", "ratio=1.5", "sum=102", "x=2"],
                2 => vec![given, "calls=11", "i=0", "p={x=0, y=103, low=1, high=2}", "sum=103", "x=1"],
                _ => vec![given, "calls=11", "last=112", "sum=103", "x=1"],
            };
            expected.sort_unstable();
            assert_eq!(told, expected, "{version}");
            let locals = here.locals(&frames[0]);
            let parameters: Vec<bool> = locals.iter().map(|local| local.is_parameter).collect();
            assert!(parameters.is_sorted_by(|one, other| one >= other), "parameters come first: {parameters:?}");
        });
    }
}

#[test]
fn at_the_first_instruction_parameters_have_values_and_the_frame_has_none() {
    for version in VERSIONS {
        let program = build("variables.c", &["-O0", version]);
        stop(&program, &[Stop::Function("blocks", 0)], |_, here| {
            let frame = here.modules.innermost(here.session, &here.session.registers(here.tid).unwrap()).unwrap();
            let told = here.told(&frame);
            assert_eq!(told, ["x=1", "given={x=8, y=9, low=0, high=0}", "calls=10"], "{version}");
        });
    }
}

/// A function has written nothing to its frame where its frame is being set up, and a variable has no value in its own declaration.
#[test]
fn what_the_function_has_not_written_yet_is_not_told() {
    // Behind `push rbp`, and behind the first instruction of arm64, which takes room on the stack.
    let offset = if cfg!(target_arch = "x86_64") { 1 } else { 4 };
    let program = build(
        "variables.c",
        &["-O0", "-fcf-protection=none"].map(|flag| match cfg!(target_arch = "x86_64") {
            false if flag.starts_with("-fcf") => "-O0",
            _ => flag,
        }),
    );
    stop(&program, &[Stop::Function("recurse", offset)], |_, here| {
        let frames = here.stack();
        assert_eq!(here.told(&frames[0]), ["depth=<not initialized yet>"]);
        // The thread of this frame is in the call by which `all` gets its value.
        let told = here.told(&frames[1]);
        assert!(told.contains(&"all=<not initialized yet>".to_string()), "{told:?}");
        assert!(told.contains(&"given={x=8, y=9, low=0, high=0}".to_string()), "{told:?}");
    });
}

#[test]
fn every_frame_of_a_recursion_has_its_own_variables() {
    for version in VERSIONS {
        for frame_pointer in ["-fomit-frame-pointer", "-fno-omit-frame-pointer"] {
            let program = build("variables.c", &["-O0", version, frame_pointer]);
            stop(&program, &[Stop::Mark("bottom")], |_, here| {
                let frames = here.stack();
                let told: Vec<_> = frames.iter().take(4).map(|frame| here.told(frame)).collect();
                assert_eq!(told[0], ["value=0"]);
                for (number, told) in told[1..].iter().enumerate() {
                    let local = format!("local={}", 100 * number);
                    let expected = [&format!("depth={number}"), &local, "below=<not initialized yet>"];
                    assert_eq!(told[..], expected, "{version} {frame_pointer}");
                }
                assert_eq!(frames[4].place.function(), Some("main"));
            });
        }
    }
}

/// The variables of a caller lie in registers that the functions which it called use for other things, and keep.
#[test]
fn a_callers_variable_in_a_register_is_found_where_the_callee_kept_it() {
    let more: [&[&str]; 4] =
        [&[], &["-fno-asynchronous-unwind-tables"], &["-fno-omit-frame-pointer"], &["-fno-ipa-ra"]];
    for version in VERSIONS {
        for flags in more {
            let program = build("variables.c", &[&["-O2", version, "-fno-ipa-ra"], flags].concat());
            stop(&program, &[Stop::Mark("deepest")], |_, here| {
                let frames = here.stack();
                let names: Vec<_> = frames.iter().take(4).map(|frame| frame.place.function().unwrap()).collect();
                assert_eq!(names, ["deepest", "leaf", "keeps", "main"], "{flags:?}");
                assert_eq!(here.told(&frames[0]), ["value=4"], "{flags:?}");
                let told = here.told(&frames[1]);
                assert_eq!(told[1..5], ["b=2", "c=3", "d=4", "e=5"].map(String::from), "{flags:?} {told:?}");
                let told = here.told(&frames[2]);
                for expected in ["a=6", "b=7", "kept=43", "other=-1", "unused=43"] {
                    // The compiler may have left out what it can compute again.
                    let gone = format!("{}=<optimized out>", expected.split('=').next().unwrap());
                    assert!(told.iter().any(|told| *told == expected || *told == gone), "{flags:?} {told:?}");
                }
                let is_kept = |told: &String| *told == "kept=43" || *told == "other=-1";
                assert!(told.iter().any(is_kept), "one lies in a register: {flags:?} {told:?}");
            });
        }
    }
}

/// Nothing tells what a function without unwind information did with registers. The stack is still there.
#[cfg(target_arch = "x86_64")]
#[test]
fn behind_code_without_unwind_information_registers_are_not_guessed() {
    for version in VERSIONS {
        let program = build("variables.c", &["-O2", version, "-fno-ipa-ra"]);
        stop(&program, &[Stop::Mark("ended")], |_, here| {
            let frames = here.stack();
            let names: Vec<_> = frames.iter().take(4).map(|frame| frame.place.function().unwrap()).collect();
            assert_eq!(names, ["ended", "undescribed", "behind", "main"]);
            let told = here.told(&frames[2]);
            for expected in ["kept=<not saved>", "array=[5, 6]"] {
                assert!(told.contains(&expected.to_string()), "{version} {told:?}");
            }
        });
    }
}

#[test]
fn structures_arrays_and_pointers_are_trees_whose_levels_are_read_on_demand() {
    for version in VERSIONS {
        let program = build("variables.c", &["-O0", version]);
        stop(&program, &[Stop::Mark("list")], |_, here| {
            let frames = here.stack();
            let locals = here.locals(&frames[0]);
            let of = |name: &str| &locals.iter().find(|local| local.value.name == name).unwrap().value;
            let text = |nodes: &[Node]| -> Vec<String> {
                nodes.iter().map(|node| format!("{} {}: {}", node.kind, node.name, node.data)).collect()
            };
            assert!(!of("count").can_expand());
            // A pointer leads to the members of its structure.
            let first = here.expand(&frames[0], of("first"), 0);
            let told = text(&first);
            assert_eq!(told[0], "const char* name: \"first\"");
            assert_eq!(told[1], "point at: {x=1, y=2, low=7, high=8}");
            assert!(told[2].starts_with("item* next: 0x"), "{told:?}");
            let point = here.expand(&frames[0], &first[1], 0);
            let members = ["int x: 1", "int y: 2", "unsigned int low: 7", "unsigned int high: 8"];
            assert_eq!(text(&point), members.map(String::from));
            assert!(point[0].address.is_some() && point[2].address.is_none(), "a bit-field has no address");
            let second = here.expand(&frames[0], &first[2], 0);
            assert_eq!(text(&second)[1], "point at: {x=3, y=4, low=5, high=6}");
            // A pointer to nothing leads nowhere.
            assert!(!second[2].can_expand());
            assert_eq!(here.expand(&frames[0], &second[2], 0).len(), 0);
            assert_eq!(text(&here.expand(&frames[0], &first[0], 0)), ["char *name: 'f'"]);
            // An array of 300 elements has two parts.
            let numbers = of("numbers");
            let parts = [0, 256, 300].map(|first| here.expand(&frames[0], numbers, first));
            assert_eq!(parts.each_ref().map(Vec::len), [256, 44, 0]);
            let all: Vec<Data> = parts.iter().flatten().map(|node| node.data.clone()).collect();
            let expected: Vec<Data> = (0..300).map(|number| Data::Signed(number * number)).collect();
            assert_eq!(all, expected);
            assert_eq!(parts[1][0].name, "[256]");
        });
    }
}

#[test]
fn code_without_debug_information_has_no_variables() {
    let program = build("variables.c", &["-O0", "-g0"]);
    stop(&program, &[Stop::Function("blocks", 0)], |_, here| {
        let frames = here.stack();
        assert!(here.locals(&frames[0]).is_empty());
        assert!(frames[0].cfa.is_some(), "unwind information is there");
    });
}
