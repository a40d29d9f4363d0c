//! What shells offer at the cursor: functions of the program and its libraries, and processes.

mod common;

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::terminal::Terminal;
use common::{build, build_with, ntrace, run, scratch, stderr, stdout};

/// The variable for the longest wait, and one that no machine needs.
const PATIENCE: (&str, &str) = ("NTRACE_COMPLETION_MS", "60000");

/// The words that a shell gets for the word at a place of a line, if it gives ntrace the words without quotes.
fn offered(words: &[&str], at: usize) -> Vec<String> {
    let (current, number) = (words[at], at.to_string());
    let others = [&words[..at], &words[at + 1..]].concat();
    let mut command = ntrace();
    command.args(["completions", "zsh", "--", &number, current]).args(others).env(PATIENCE.0, PATIENCE.1);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    stdout(&output).lines().map(str::to_string).collect()
}

#[test]
fn functions_of_the_program_and_its_libraries_are_offered() {
    let program = build("calls.c", &[]);
    let program = program.to_str().unwrap();
    let of = |text: &str| offered(&["ntrace", "count", "-b", text, "--", program], 3);
    assert_eq!(of("midd"), ["middle"]);
    assert_eq!(of("qui"), ["quick_exit", "quiet"]);
    assert!(of("mallo").contains(&"malloc".to_string()), "{:?}", of("mallo"));
    assert_eq!(of("not_cod"), [""; 0], "it is no function");
    assert_eq!(of("nosuch"), [""; 0]);
    // A module goes on with its functions.
    assert_eq!(of("libc!mallo")[0], "libc!malloc");
    assert!(of("lib").contains(&"libc!".to_string()), "{:?}", of("lib"));
    let own = format!("{}!", program.rsplit('/').next().unwrap());
    assert_eq!(of(&own[..own.len() - 3]), std::slice::from_ref(&own));
    assert_eq!(of(&format!("{own}wo")), [format!("{own}work")]);
    // Without a text the functions of the program are offered, and the modules.
    let all = of("");
    assert!(["main", "middle", "libc!"].iter().all(|word| all.iter().any(|offer| offer == word)), "{all:?}");
    assert!(!all.iter().any(|offer| offer == "malloc"), "{all:?}");
    assert!(of("calls.c:2").iter().all(|line| line.starts_with("calls.c:2")) && !of("calls.c:2").is_empty());
}

#[test]
fn names_of_cpp_are_offered_with_their_namespaces_and_without_parameters() {
    let Some(program) = build_with("g++", "values.cpp", &["-g", "-O1"]) else { return };
    let of = |text: &str| offered(&["ntrace", "list", text, "-f", program.to_str().unwrap()], 2);
    assert!(of("mai").contains(&"main".to_string()));
    for offer in of("std::") {
        assert!(offer.starts_with("std::") && !offer.contains(['(', '<', ' ']), "{offer}");
    }
}

#[test]
fn before_the_program_is_named_the_c_library_is_searched() {
    assert!(offered(&["ntrace", "count", "-b", "mallo"], 3).contains(&"malloc".to_string()));
    assert_eq!(offered(&["ntrace", "count", "-b", ""], 3), ["libc!"]);
}

#[test]
fn processes_are_offered_by_number_name_and_file_and_their_functions_too() {
    let program = build("terminal.c", &[]);
    let mut running = Command::new(&program).arg("beats").arg("1000").stdout(Stdio::null()).spawn().unwrap();
    let number = running.id().to_string();
    let name = program.file_name().unwrap().to_str().unwrap();
    assert!(offered(&["ntrace", "trace", "-b", "main", "-p", ""], 5).contains(&number));
    assert_eq!(offered(&["ntrace", "trace", "-b", "main", "--name", name], 5), [name]);
    let path = program.to_str().unwrap();
    assert_eq!(offered(&["ntrace", "trace", "--exec", path], 3), [path]);
    for whom in [["-p", &number], ["--name", name], ["--exec", path]] {
        assert_eq!(offered(&["ntrace", "trace", "-b", "bea", whom[0], whom[1]], 3), ["beat", "beats"], "{whom:?}");
    }
    running.kill().unwrap();
    running.wait().unwrap();
}

#[test]
fn the_functions_of_a_script_are_those_of_its_interpreter() {
    let script = scratch("script.sh");
    std::fs::write(&script, "#!/bin/sh -e\nexit 0\n").unwrap();
    let of = |text: &str| offered(&["ntrace", "count", "-b", text, "--", script.to_str().unwrap()], 3);
    assert!(of("mallo").contains(&"malloc".to_string()));
}

#[test]
fn what_the_declarations_tell_is_left_to_the_script() {
    for words in [&["ntrace", "count", "--form"][..], &["ntrace", "count", "-b", "main", "--", "l"]] {
        let at = words.len() - 1;
        let (number, others) = (at.to_string(), &words[..at]);
        let output = run(&[&["completions", "zsh", "--", &number, words[at]], others].concat());
        assert_eq!((output.status.code(), stdout(&output)), (Some(1), String::new()), "{words:?}");
    }
    let output = run(&["completions", "bash", "--", "ntrace count -b m"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

/// A shell and how it is started and told to show its arguments.
struct Shell {
    name: &'static str,
    start: &'static str,
    prepare: &'static str,
    /// Whether the shell gives ntrace the words behind the cursor.
    tells_all: bool,
}

const SHELLS: [Shell; 3] = [
    Shell {
        name: "bash",
        start: "exec bash --norc --noprofile -i",
        prepare: "PS1='re''ads> '; source $SCRIPT; show() { printf '<%s>' \"$@\"; echo '<''end>'; }",
        tells_all: true,
    },
    Shell {
        name: "zsh",
        start: "exec zsh -f -i",
        prepare: "PS1='re''ads> '; autoload -U compinit; compinit -u -D; source $SCRIPT; show() { printf '<%s>' \"$@\"; echo '<''end>'; }",
        tells_all: true,
    },
    Shell {
        name: "fish",
        start: "exec fish --no-config -i",
        prepare: "function fish_prompt; printf 're''ads> '; end; source $SCRIPT; function show; printf '<%s>' $argv; echo '<''end>'; end",
        tells_all: false,
    },
];

/// The words of a line in whose midst the tabulator key is pressed, as the shell gives them to a command.
fn typed(shell: &Shell, script: &Path, before: &str, behind: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_BIN_EXE_ntrace")).parent().unwrap().to_path_buf();
    let path = env::split_paths(&env::var_os("PATH").unwrap()).fold(vec![folder], |mut all, folder| {
        all.push(folder);
        all
    });
    let path = env::join_paths(path).unwrap();
    let home = scratch("home");
    std::fs::create_dir(&home).unwrap();
    let variables = [
        ("PATH", path.to_str().unwrap()),
        ("SCRIPT", script.to_str().unwrap()),
        ("HOME", home.to_str().unwrap()),
        ("LC_ALL", "C.UTF-8"),
        PATIENCE,
    ];
    let mut terminal = Terminal::sized(shell.start, &variables, (24, 400));
    writeln!(terminal.keyboard, "{}; show ready", shell.prepare).unwrap();
    const READS: &str = "reads> ";
    let shown = terminal.until("<ready><end>");
    if !shown.rsplit("<ready><end>").next().is_some_and(|rest| rest.contains(READS)) {
        terminal.until(READS);
    }
    // The line behind the cursor comes first. Ctrl-A goes to the beginning of the line.
    write!(terminal.keyboard, " {behind}\x01{before}\t\x01show \r").unwrap();
    let shown = terminal.until("<end>");
    let line = &shown[shown.find("<ntrace>").unwrap_or_else(|| panic!("{}: {shown:?}", shell.name))..];
    line.split(['<', '>']).filter(|word| !word.is_empty() && *word != "end").map(str::to_string).collect()
}

/// The completion script of a shell. `None`: there is no such shell.
fn script(shell: &Shell) -> Option<PathBuf> {
    if Command::new(shell.name).arg("-c").arg("exit").status().is_err() {
        crossing::skip(&format!("completion of functions, by {}", shell.name), "it is not installed");
        return None;
    }
    let file = scratch(&format!("_ntrace.{}", shell.name));
    std::fs::write(&file, run(&["completions", shell.name]).stdout).unwrap();
    Some(file)
}

#[test]
fn a_tabulator_completes_a_function_in_each_shell() {
    let program = build("calls.c", &[]);
    let behind = format!("-- {}", program.display());
    for shell in &SHELLS {
        let Some(script) = script(shell) else { continue };
        for (before, behind, expected) in [
            ("ntrace count -b midd", &*behind, "middle"),
            ("ntrace count -b libc\\!malloc_us", &*behind, "libc!malloc_usable_size"),
            ("ntrace count --break midd", &*behind, "middle"),
            ("ntrace count -b 'libc!malloc_us", "", "libc!malloc_usable_size"),
        ] {
            // fish also offers nothing for a word whose quotation is open.
            if (expected == "middle" || before.contains('\'')) && !shell.tells_all {
                continue;
            }
            let words = typed(shell, &script, before, behind);
            let expected = ["ntrace", "count", before.split(' ').nth(2).unwrap(), expected];
            assert_eq!(words[..4], expected, "{}: {before}", shell.name);
        }
    }
}

#[test]
fn bash_completes_behind_a_colon_at_which_it_ends_words() {
    let Some(program) = build_with("g++", "names.cpp", &["-g", "-O0"]) else { return };
    let bash = &SHELLS[0];
    let Some(script) = script(bash) else { return };
    let behind = format!("-- {}", program.display());
    for (before, expected) in [
        ("ntrace count -b ns::Type::ad", "ns::Type::add"),
        ("ntrace count --break=ns::Type::ad", "--break=ns::Type::add"),
        ("ntrace count -bns::Type::ad", "-bns::Type::add"),
    ] {
        let words = typed(bash, &script, before, &behind);
        assert!(words.iter().any(|word| word == expected), "{before}: {words:?}");
    }
}
