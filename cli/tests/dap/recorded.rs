//! A session of Neovim with nvim-dap, as recorded: a condition at a line, a step over, a step out, and the variables at each stop.

use serde_json::{Value, json};

use crate::client::Client;
use crate::{end, line, program, source};

/// The requests, one in a line. In them `PROGRAM`, `SOURCE`, `FOLDER`, `THREAD` and `WALK` stand for what differs from run to run.
const REQUESTS: &str = include_str!("neovim.jsonl");

/// The request with what it stands for in this run.
fn filled(value: &Value, thread: i64) -> Value {
    match value {
        Value::String(text) => match text.as_str() {
            "THREAD" => json!(thread),
            "WALK" => json!(line("WALK")),
            "PROGRAM" => json!(program()),
            "SOURCE" => json!(source()),
            "FOLDER" => json!("/"),
            text => json!(text),
        },
        Value::Array(all) => all.iter().map(|one| filled(one, thread)).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), filled(value, thread))).collect(),
        other => other.clone(),
    }
}

#[test]
fn a_recorded_session_of_neovim_stops_steps_and_ends_as_it_did() {
    let mut client = Client::connect();
    let (mut thread, mut places, mut told) = (0, Vec::new(), Vec::new());
    for request in REQUESTS.lines() {
        let request: Value = serde_json::from_str(request).unwrap();
        let command = request["command"].as_str().unwrap();
        let body = client.ask(command, filled(&request["arguments"], thread));
        match command {
            "launch" => drop(client.event("initialized")),
            "configurationDone" | "next" | "stepOut" => thread = client.event("stopped")["threadId"].as_i64().unwrap(),
            "stackTrace" => places.push(body["stackFrames"][0]["line"].as_u64().unwrap()),
            "variables" => {
                let sum = body["variables"].as_array().unwrap().iter().find(|one| one["name"] == "sum").cloned();
                told.push(sum.unwrap()["value"].as_str().unwrap().to_owned());
            }
            _ => {}
        }
    }
    assert_eq!(places, [line("WALK"), line("WALK") - 1, line("CALL")]);
    assert_eq!(told, ["3", "10", "<not initialized yet>"]);
    assert_eq!(end(&mut client).1, 3);
    client.leave();
}
