//! What the commands print as JSON is what docs/schemas says.

mod common;

use std::fs;
use std::path::Path;

use common::{build, ntrace, scratch, stderr, stdout};
use serde_json::{Value, json};

/// Compares a value with a schema. Knows the words that the files in docs/schemas use, and refuses others. Returns what is wrong.
fn check(value: &Value, schema: &Value, root: &Value, at: &str) -> Result<(), String> {
    let wrong = |what: String| Err(format!("{at}: {what} in {value}"));
    let Some(words) = schema.as_object() else { return wrong(format!("{schema} is no schema")) };
    for (word, content) in words {
        match word.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" => {}
            "$ref" => {
                let path = content.as_str().unwrap().trim_start_matches('#');
                check(value, root.pointer(path).expect("a definition"), root, at)?;
            }
            "oneOf" => {
                let all = content.as_array().unwrap().iter().map(|one| check(value, one, root, at));
                let errors: Vec<String> = all.clone().filter_map(Result::err).collect();
                let fitting = content.as_array().unwrap().len() - errors.len();
                if fitting != 1 {
                    return wrong(format!("{fitting} forms fit: {errors:#?}"));
                }
            }
            "const" if value == content => {}
            "enum" if content.as_array().unwrap().contains(value) => {}
            "const" | "enum" => return wrong(format!("not {content}")),
            "type" => {
                let types = content.as_array().cloned().unwrap_or_else(|| vec![content.clone()]);
                if !types.iter().any(|name| is_of(value, name.as_str().unwrap())) {
                    return wrong(format!("no {content}"));
                }
            }
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(item, content, root, &format!("{at}[{number}]"))?;
                }
            }
            "required" => {
                let names = content.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                if let Some(name) = names.into_iter().find(|name| value.get(name).is_none()) {
                    return wrong(format!("no key '{name}'"));
                }
            }
            "properties" => {
                for (key, part) in value.as_object().into_iter().flatten() {
                    match content.get(key) {
                        Some(schema) => check(part, schema, root, &format!("{at}.{key}"))?,
                        None if words.get("additionalProperties") == Some(&json!(false)) => {
                            return wrong(format!("unknown key '{key}'"));
                        }
                        None => {}
                    }
                }
            }
            "additionalProperties" => assert_eq!(content, false),
            other => panic!("{other} is a word that this test does not know"),
        }
    }
    Ok(())
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("no type '{other}'"),
    }
}

/// Runs a command with JSON as output, compares each line with a schema, and returns the lines.
fn lines(schema: &str, command: &[&str], program: &[&str]) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schemas").join(schema);
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let file = scratch("lines.json");
    let mut run = ntrace();
    run.args(command).args(["--format", "json"]);
    let is_file = !program.is_empty();
    if is_file {
        run.arg("-o").arg(&file).arg("--").args(program);
    }
    let output = run.output().unwrap();
    let text = if is_file { fs::read_to_string(&file).unwrap_or_default() } else { stdout(&output) };
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!lines.is_empty(), "{command:?}: {}", stderr(&output));
    for line in &lines {
        check(line, &schema, &schema, "").unwrap_or_else(|error| panic!("{command:?}: {error}"));
    }
    lines
}

#[test]
fn what_is_printed_is_what_the_schemas_say() {
    let program = build("calls.c", &[]);
    let program = program.to_str().unwrap();
    let run = [program, "2"];
    let has = |lines: &[Value], event: &str| lines.iter().any(|line| line["event"] == event);
    let trace = ["trace", "-b", "work", "middle", "--args", "--locals", "--return", "--stack"];
    let trace = lines("trace.v1.json", &trace, &run);
    assert!(has(&trace, "hit") && has(&trace, "return"), "{trace:?}");
    let events = ["trace", "--events", "syscalls,signals,lives,maps", "--watch", "not_code:rw", "--time", "epoch"];
    let events = lines("trace.v1.json", &events, &run);
    for event in ["syscall", "loaded", "watched", "exited"] {
        assert!(has(&events, event), "{event}: {events:?}");
    }
    lines("count.v1.json", &["count", "-b", "work", "quiet", "--every-instruction"], &run);
    lines("count-rows.v1.json", &["count", "-b", "work", "--by", "caller", "--hist", "arg0"], &run);
    lines("count-stacks.v1.json", &["count", "-b", "work", "--stack"], &run);
    lines("latency.v1.json", &["latency", "-b", "work", "--by", "thread"], &run);
    lines("calls.v1.json", &["calls", "-b", "work", "--args", "--return"], &run);
    lines("coverage.v1.json", &["coverage"], &run);
    lines("list.v1.json", &["list", "work", "*ma*", "-f", program], &[]);
}

#[test]
fn a_value_that_a_schema_does_not_allow_is_noticed() {
    let schema = json!({"type": "object", "properties": {"a": {"type": ["integer", "null"]}, "b": {"oneOf": [
        {"const": "x"}, {"enum": ["y", "z"]}]}}, "required": ["a"], "additionalProperties": false});
    let fits = |value: Value| check(&value, &schema, &schema, "").is_ok();
    assert!(fits(json!({"a": 1, "b": "z"})) && fits(json!({"a": null, "b": "x"})));
    for wrong in [json!({"a": 1.5}), json!({"b": "x"}), json!({"a": 1, "c": 2}), json!({"a": 1, "b": "w"}), json!([])] {
        assert!(!fits(wrong.clone()), "{wrong}");
    }
}
