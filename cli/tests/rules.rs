//! `ntrace trace --rules` and `ntrace vocabulary`.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use common::{build, run, scratch, stderr, stdout, trace};

fn ruled(rules: &str, program: &Path) -> (Vec<Value>, Output) {
    let file = scratch("rules.toml");
    fs::write(&file, rules).unwrap();
    trace(&["--rules", file.to_str().unwrap()], program, &[])
}

/// The values that the program tells, each with its number.
fn told(output: &str) -> BTreeMap<u64, u64> {
    let lines = output.lines().filter_map(|line| line.strip_prefix("value ")?.split_once(' '));
    lines.map(|(value, count)| (value.parse().unwrap(), count.parse().unwrap())).collect()
}

fn number(text: &Value) -> u64 {
    u64::from_str_radix(text.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

const RULES: &str = r#"
[aggregates.values]
key = "arg0"

[aggregates.few]
key = "arg0"
rows = 2

[[rules]]
name = "large"
event = "breakpoint"
at = "work"
when = ["arg0 >= 10", { not = "arg0 == 1000" }]
do = [{ record = { arguments = 1 } }]
pass = true

[[rules]]
name = "all"
event = "breakpoint"
at = "groups_c!work"
do = [{ aggregate = "values" }, { aggregate = "few" }]

[[rules]]
name = "end"
event = "exited"
do = ["record"]
"#;

#[test]
fn rules_record_and_sum_what_the_program_tells() {
    let program = build("groups.c", &["-pthread"]);
    let module = program.file_name().unwrap().to_str().unwrap();
    let (lines, output) = ruled(&RULES.replace("groups_c", module), &program);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = told(&stdout(&output));
    let of = |kind: &str| lines.iter().filter(|line| line["event"] == kind).collect::<Vec<_>>();
    let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
    for hit in of("breakpoint") {
        assert_eq!((&hit["rule"], &hit["symbol"]), (&"large".into(), &"work".into()));
        *seen.entry(number(&hit["arguments"][0])).or_default() += 1;
    }
    let large = |value: &u64| *value >= 10 && *value != 1000;
    assert_eq!(seen, told.iter().filter(|(value, _)| large(value)).map(|(value, count)| (*value, *count)).collect());
    let aggregates = of("aggregate");
    let rows = |number: usize| aggregates[number]["rows"].as_array().unwrap();
    let counts = |at: usize| -> BTreeMap<u64, u64> {
        rows(at).iter().map(|row| (number(&row["key"]), row["count"].as_u64().unwrap())).collect()
    };
    let total: u64 = told.values().sum();
    assert_eq!(
        (aggregates[0]["aggregate"].as_str(), aggregates[1]["aggregate"].as_str()),
        (Some("few"), Some("values"))
    );
    assert_eq!(counts(1), told);
    assert_eq!(counts(0).values().sum::<u64>() + aggregates[0]["other"]["count"].as_u64().unwrap(), total);
    assert_eq!((rows(0).len(), of("exited")[0]["status"].as_i64()), (2, Some(0)));
}

#[test]
fn rules_about_system_calls_and_children_have_their_group_alone() {
    let program = build("events.c", &["-pthread"]);
    let rules = r#"
[groups.nobody]
executable = "no_such_program"

[[rules]]
event = "syscall_returned"
syscalls = ["getpgid"]
when = "result s> 0"
do = ["record"]

[[rules]]
group = "nobody"
event = "exited"
do = ["record"]

[[rules]]
event = "killed"
when = "number == 9"
do = ["record"]
"#;
    let (lines, output) = ruled(rules, &program);
    let text = stdout(&output);
    let result = text.lines().find(|line| line.starts_with("call getpgid")).unwrap().rsplit(' ').next().unwrap();
    let killed = text.lines().find_map(|line| line.strip_prefix("child ")?.strip_suffix(" killed 9")).unwrap();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!((&lines[0]["event"], &lines[0]["name"]), (&"syscall_returned".into(), &"getpgid".into()));
    assert_eq!(lines[0]["result"], result);
    assert_eq!((lines[1]["event"].as_str(), lines[1]["pid"].to_string()), (Some("killed"), killed.to_string()));
}

#[test]
fn an_error_of_a_file_names_line_and_column() {
    let file = scratch("rules.toml");
    let name = file.to_str().unwrap();
    fs::write(&file, "[[rules]]\nevent = \"exited\"\ndo = [\"record\", \"fly\"]\n").unwrap();
    let output = run(&["trace", "--rules", name, "--", "/bin/true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains(&format!("{name}:3:17: no such action: 'fly'")), "{}", stderr(&output));
    let output = run(&["trace", "--rules", "/no/such/file", "--", "/bin/true"]);
    assert!(output.status.code() == Some(125) && stderr(&output).contains("/no/such/file: "), "{}", stderr(&output));
}

#[test]
fn the_vocabulary_lists_every_word() {
    let text = stdout(&run(&["vocabulary"]));
    for part in ["events\n", "  exec ", "not over ptrace: ", "filters\n", "  executable ", "actions\n", "  aggregate "]
    {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    let json: Value = serde_json::from_str(&stdout(&run(&["vocabulary", "--format", "json"]))).unwrap();
    let of = |key: &str| json[key].as_array().unwrap().len();
    assert!(of("events") == 17 && of("fields") == 6 && of("filters") == 6 && of("actions") == 11, "{json}");
    assert!(
        json["events"]
            .as_array()
            .unwrap()
            .iter()
            .any(|event| event["name"] == "signal_sent" && event["module"].is_string())
    );
}
