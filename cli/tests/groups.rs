//! `ntrace count` with `--by`, `--hist` and `--top`.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use common::{build, ntrace, run, scratch, stderr, stdout};

/// The results, and what the program itself tells.
fn counted(args: &[&str], program: &Path) -> (Value, String) {
    let file = scratch("groups.json");
    let mut command = ntrace();
    command.args(["count", "-b", "work", "--format", "json", "-o"]).arg(&file).args(args).arg("--").arg(program);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    (serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap(), stdout(&output))
}

/// The hits by a row's text.
fn rows(results: &Value) -> BTreeMap<String, u64> {
    let rows = results["counts"].as_array().unwrap().iter();
    rows.map(|row| (row["by"].as_str().unwrap().into(), row["hits"].as_u64().unwrap())).collect()
}

/// The counts that the program tells, by a text made of each name.
fn told(output: &str, word: &str, text: impl Fn(&str) -> String) -> BTreeMap<String, u64> {
    let lines = output.lines().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' ')?.split_once(' '));
    lines.map(|(name, count)| (text(name), count.parse().unwrap())).collect()
}

fn as_argument(name: &str, value: &str) -> String {
    format!("{name}={:#x}", value.parse::<u64>().unwrap())
}

#[test]
fn rows_have_the_counts_that_the_program_tells() {
    let program = build("groups.c", &["-pthread"]);
    for method in ["auto", "trap"] {
        let (results, output) = counted(&["--by", "arg0", "--method", method], &program);
        assert_eq!(rows(&results), told(&output, "value", |value| as_argument("arg0", value)));
        assert_eq!((&results["total"], &results["other"]), (&81.into(), &0.into()));
        let (results, output) = counted(&["--by", "thread", "--method", method], &program);
        assert_eq!(rows(&results), told(&output, "thread", |tid| format!("thread {tid}")));
        let (results, _) = counted(&["--by", "process", "--method", method], &program);
        assert_eq!(rows(&results).into_values().collect::<Vec<_>>(), [81]);
        let (results, _) = counted(&["--by", "caller", "--method", method], &program);
        let callers = rows(&results);
        let of = |name: &str| callers.iter().filter(|(by, _)| by.contains(name)).map(|(_, hits)| hits).sum::<u64>();
        assert_eq!((of("!often+"), of("!once+"), callers.len()), (80, 1, 2), "{callers:?}");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_register_is_read_at_the_location() {
    let program = build("groups.c", &["-pthread"]);
    let (results, output) = counted(&["--by", "rdi"], &program);
    assert_eq!(rows(&results), told(&output, "value", |value| as_argument("rdi", value)));
}

#[test]
fn a_histogram_has_every_value_and_their_sum() {
    let program = build("groups.c", &["-pthread"]);
    let (results, output) = counted(&["--hist", "arg0"], &program);
    let told: Vec<(u64, u64)> = told(&output, "value", str::to_string)
        .into_iter()
        .map(|(value, count)| (value.parse().unwrap(), count))
        .collect();
    let values = &results["counts"][0]["values"];
    let number = |key: &str| values[key].as_u64().unwrap();
    let sum: u64 = told.iter().map(|(value, count)| value * count).sum();
    assert_eq!((number("sum"), number("minimum"), number("maximum"), number("mean")), (sum, 1, 1000, sum / 81));
    for bucket in values["histogram"].as_array().unwrap() {
        let range = bucket["from"].as_u64().unwrap()..=bucket["to"].as_u64().unwrap();
        let expected: u64 = told.iter().filter(|(value, _)| range.contains(value)).map(|(_, count)| count).sum();
        assert_eq!(bucket["count"], expected, "{range:?}");
    }
    assert_eq!(results["total"], 81);
}

#[test]
fn the_top_rows_are_the_most_frequent_and_the_rest_is_summed() {
    let program = build("groups.c", &["-pthread"]);
    let (results, output) = counted(&["--by", "arg0", "--top", "2"], &program);
    let told = told(&output, "value", |value| as_argument("arg0", value));
    let rows = rows(&results);
    let mut most: Vec<u64> = told.values().copied().collect();
    most.sort();
    let most: Vec<u64> = most.into_iter().rev().take(2).collect();
    assert!(rows.iter().all(|(by, hits)| told[by] == *hits && most.contains(hits)), "{rows:?}");
    assert_eq!((&results["total"], &results["other"]), (&81.into(), &(81 - most.iter().sum::<u64>()).into()));
}

#[test]
fn text_names_the_rows_and_the_rest() {
    let program = build("groups.c", &["-pthread"]);
    let program = program.to_str().unwrap();
    let text = stderr(&run(&["count", "-b", "work", "--by", "arg0", "--top", "1", "--", program]));
    assert!(text.contains("          40  ") && text.contains("!work arg0=0x1 at groups.c:"), "{text}");
    assert!(text.contains("          41  in other rows\n") && text.contains("          81  in all\n"), "{text}");
    let text = stderr(&run(&["count", "-b", "work", "--hist", "arg0", "--", program]));
    assert!(text.contains(" 512 to ") && text.contains("maximum 1000, sum "), "{text}");
    for (flag, value) in [("--by", "arg6"), ("--hist", "xyz"), ("--top", "0")] {
        assert_eq!(run(&["count", "-b", "work", flag, value, "--", program]).status.code(), Some(2), "{flag}");
    }
}
