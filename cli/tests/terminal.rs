//! The live line, the last line and colours, on real terminals.

mod common;

use std::io::Write;
use std::time::Duration;

use common::terminal::Terminal;

/// Three times the interval between two updates of the live line.
const WHILE: Duration = Duration::from_millis(600);

/// Returns the totals of the live line in the order in which they appeared.
fn totals(shown: &str) -> Vec<u64> {
    let before = shown.match_indices(" hits").map(|(at, _)| &shown[..at]);
    before.filter_map(|text| text.rsplit([' ', '\r', '\n']).next()?.parse().ok()).collect()
}

/// Takes the seconds away from the last line of ntrace, and what they cost the program.
fn without_seconds(shown: &str) -> String {
    let Some((before, behind)) = shown.split_once(", seconds ") else { return shown.into() };
    let behind = behind.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let rest =
        behind.strip_prefix(ESTIMATE).and_then(|behind| behind.find("times as long").map(|at| &behind[at + 13..]));
    format!("{before}{}", rest.unwrap_or(behind))
}

/// The beginning of what the last line says of a slower program.
const ESTIMATE: &str = ", ntrace at work for ";

#[test]
fn the_last_line_estimates_the_slowdown_of_hits_that_hold_threads_and_of_no_others() {
    let last = |command: &str| {
        let shown = Terminal::run(&format!("$N {command} -o /dev/null -- $P hot; echo END"), &[]).finish();
        let at = shown.find("seconds ").unwrap_or_else(|| panic!("{shown:?}"));
        shown[at..].lines().next().unwrap().to_string()
    };
    let held = last("count --backend ptrace --method trap -b hot");
    let Some((seconds, estimate)) = held.split_once(ESTIMATE) else { panic!("{held}") };
    let number = |text: &str| text.split([' ', ':']).find_map(|word| word.parse::<f64>().ok()).expect("a number");
    let (seconds, worked) = (number(seconds), number(estimate));
    assert!(0.0 < worked && worked <= seconds + 0.01, "{held}");
    assert!(held.ends_with("times as long"), "{held}");
    for command in ["count --backend ptrace --method jump -b hot", "count --backend ptrace --method trap -b never"] {
        let line = last(command);
        assert!(!line.contains(ESTIMATE), "{command}: {line}");
    }
}

#[test]
fn a_terminal_shows_colours_and_a_last_line_with_the_numbers_of_the_run() {
    let run = |command: &str, variables: &[(&str, &str)]| {
        Terminal::run(&format!("$N {command} -- $P beats 1; echo END"), variables).finish()
    };
    let trace = run("trace -b beat --time none --limit 3", &[]);
    assert_eq!(trace.matches("\x1b[36m").count(), 3, "{trace:?}");
    assert!(trace.contains("!beat\x1b[0m\x1b[2m at terminal.c:"), "{trace:?}");
    assert!(without_seconds(&trace).ends_with("ntrace: hits 3, lost 0\r\nEND\r\n"), "{trace:?}");
    for (command, words) in [("calls", "calls 10, lost 0"), ("latency", "times 10, lost 0"), ("count -q", "END")] {
        let shown = run(&format!("{command} -b beat"), &[]);
        assert!(shown.contains("\x1b[36m"), "{shown:?}");
        assert!(without_seconds(&shown).contains(words), "{shown:?}");
        assert_eq!(shown.contains("lost"), command != "count -q", "{shown:?}");
    }
    for (flags, variables) in [("--color never", &[][..]), ("", &[("NO_COLOR", "1")])] {
        let shown = run(&format!("trace -b beat {flags}"), variables);
        assert!(!shown.contains('\x1b') && shown.contains("!beat at terminal.c:"), "{shown:?}");
    }
    let file =
        Terminal::run("$N trace -b beat --color always -- $P beats 1 2>&1 | cat; echo END", &[("NO_COLOR", "1")])
            .finish();
    assert!(file.contains("\x1b[36m"), "{file:?}");
}

#[test]
fn the_live_line_tells_hits_and_where_most_are_and_makes_room_for_the_counts() {
    for variables in [&[][..], &[("NO_COLOR", "1")]] {
        let shown = Terminal::run("$N count -b beat -- $P beats 8; echo END", variables).finish();
        assert!(!totals(&shown).is_empty(), "{shown:?}");
        assert!(shown.contains(", most at ") && shown.contains("!beat"), "{shown:?}");
        let last = shown.rfind("\r\x1b[2K").expect("the line is taken away");
        assert!(!shown[last..].contains(" hits,") && shown[last..].contains(" 80  "), "{shown:?}");
    }
}

#[test]
fn no_live_line_where_it_is_not_wanted_or_cannot_be_rewritten() {
    let plain = "$N count -b beat -o /dev/null -- $P beats 5; echo END";
    let quiet = plain.replace("count", "count --quiet");
    let redirected = plain.replace("; echo", " 2>/dev/null; echo");
    let recorded = "$N record --quiet -o /dev/null -- $P beats 5; echo END";
    let cases = [(plain, "dumb"), (&quiet, "xterm"), (&redirected, "xterm"), (recorded, "xterm")];
    for (terminal, case) in cases.map(|case| (Terminal::run(case.0, &[("TERM", case.1)]), case)) {
        let shown = terminal.finish();
        let last = if case.1 == "dumb" { without_seconds(&shown) } else { shown };
        assert_eq!(last, if case.1 == "dumb" { "ntrace: hits 50, lost 0\r\nEND\r\n" } else { "END\r\n" }, "{case:?}");
    }
}

#[test]
fn a_stopped_job_leaves_the_terminal_to_the_shell_and_takes_it_again_in_the_foreground() {
    let start = |(command, live)| {
        let script = format!("$N {command} -o /dev/null -- $P reads; echo BACK; read; fg >/dev/null; echo END");
        (Terminal::run(&script, &[]), live)
    };
    for (mut terminal, live) in [("count -b beat", " hits"), ("record", " instructions ")].map(start) {
        terminal.until(live);
        terminal.keyboard.write_all(b"\x1a").unwrap();
        terminal.until("BACK");
        let shown = terminal.during(WHILE);
        assert!(!shown.contains(live), "{shown:?}");
        terminal.keyboard.write_all(b"\n").unwrap();
        terminal.until(live);
        terminal.keyboard.write_all(b"\n").unwrap();
        terminal.until("END");
        terminal.finish();
    }
}

#[test]
fn a_job_in_the_background_writes_its_results_and_no_live_line() {
    // A write of a background job would stop that job.
    let script = "stty tostop; $N count -b beat -- $P beats 6 & wait; echo END";
    let shown = Terminal::run(script, &[]).finish();
    assert!(totals(&shown).is_empty(), "{shown:?}");
    assert!(shown.contains(" 60  ") && shown.contains("END"), "{shown:?}");
}

#[test]
fn a_program_that_reads_keys_has_the_terminal_for_itself() {
    let mut terminal = Terminal::run("$N count -b beat -o /dev/null -- $P raw; echo END", &[]);
    terminal.until("<taken>");
    let shown = terminal.until("<given back>");
    assert!(totals(&shown).is_empty(), "{shown:?}");
    terminal.until(" hits");
    terminal.finish();
}

#[test]
fn a_shell_within_has_the_terminal_for_its_own_jobs() {
    let script = "$N count -b beat -o /dev/null -- bash --norc -m -c '$P beats 6 aloud; true'; echo END";
    let mut terminal = Terminal::run(script, &[]);
    terminal.until("<begin>");
    let shown = terminal.until("<end>");
    assert!(totals(&shown).is_empty(), "{shown:?}");
    terminal.finish();
}

#[test]
fn hits_of_a_program_that_executes_another_are_counted_once() {
    let shown = Terminal::run("$N count -b beat -- $P execs 3; echo END", &[]).finish();
    let totals = totals(&shown);
    assert!(totals.iter().any(|total| *total > 20), "{totals:?}");
    assert!(totals.is_sorted() && totals.iter().all(|total| *total <= 40), "{totals:?}");
    assert!(shown.contains(" 40  in all"), "{shown:?}");
}

#[test]
fn a_recording_is_not_written_to_a_terminal() {
    let shown = Terminal::run("$N record -o - -- $P beats 1; echo $?", &[]).finish();
    assert!(shown.starts_with("ntrace: ") && shown.ends_with("2\r\n"), "{shown:?}");
}
