//! Breakpoints: at lines, functions and instructions, with conditions, numbers of hits and texts.

use serde_json::{Value, json};

use crate::client::Client;
use crate::{end, launched, line, program, set, source, stopped_at};

#[test]
fn a_session_of_an_editor_stops_at_a_line_shows_the_stack_and_runs_to_the_end() {
    let mut client = launched(&program(), &[]);
    let body = set(&mut client, &[json!({ "line": line("CALL") })]);
    assert_eq!(body["breakpoints"][0]["line"], line("CALL"));
    client.ask("setFunctionBreakpoints", json!({ "breakpoints": [] }));
    client.ask("setInstructionBreakpoints", json!({ "breakpoints": [] }));
    client.ask("setDataBreakpoints", json!({ "breakpoints": [] }));
    client.ask("setExceptionBreakpoints", json!({ "filters": ["fatal"], "filterOptions": [] }));
    client.ask("configurationDone", json!({}));
    let stop = client.event("stopped");
    assert_eq!(stop["reason"], "breakpoint");
    assert_eq!(stop["allThreadsStopped"], true);
    assert_eq!(stop["hitBreakpointIds"], json!([body["breakpoints"][0]["id"]]));
    let thread = stop["threadId"].as_i64().unwrap();
    let threads = client.ask("threads", json!({}));
    assert_eq!(threads["threads"][0]["id"], thread);
    let frames = client.ask("stackTrace", json!({ "threadId": thread, "startFrame": 0, "levels": 1 }));
    assert_eq!(frames["stackFrames"][0]["name"], "main");
    assert_eq!(frames["stackFrames"][0]["source"]["path"], source());
    assert!(frames["totalFrames"].as_u64().unwrap() > 1, "{frames}");
    client.ask("continue", json!({ "threadId": thread }));
    assert_eq!(end(&mut client), ("sum 12 deep 61 total 328350\njoined 21\n".into(), 3));
    client.leave();
}

#[test]
fn conditions_and_numbers_of_hits_choose_the_stops() {
    let mut client = launched(&program(), &[]);
    let lines = [
        json!({ "line": line("LOOP"), "condition": "i == 97 || i > 98" }),
        json!({ "line": line("SQUARE"), "hitCondition": "% 50" }),
        json!({ "line": line("SQUARED"), "condition": "n > 90 && result > 9000", "hitCondition": ">= 4" }),
    ];
    set(&mut client, &lines);
    client.ask("configurationDone", json!({}));
    let mut stops = Vec::new();
    for _ in 0..6 {
        let thread = client.stop("breakpoint");
        let (_, line, frame) = client.stack(thread).swap_remove(0);
        let name = if line == lines[0]["line"] { "i" } else { "n" };
        let value = client.ask("evaluate", json!({ "expression": name, "frameId": frame, "context": "watch" }));
        stops.push((line, value["result"].as_str().unwrap().to_owned()));
        client.ask("continue", json!({ "threadId": thread }));
    }
    let (l, s, d) = (line("LOOP"), line("SQUARE"), line("SQUARED"));
    let stop = |line, value: &str| (line, value.to_owned());
    assert_eq!(stops, [stop(s, "49"), stop(l, "97"), stop(d, "98"), stop(l, "99"), stop(s, "99"), stop(d, "99")]);
    assert_eq!(end(&mut client).1, 3);
    client.leave();
}

#[test]
fn a_function_breakpoint_stops_behind_the_prologue_where_arguments_have_their_values() {
    let mut client = launched(&program(), &[]);
    let body =
        client.ask("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "walk" }, { "name": "nowhere" }] }));
    assert_eq!(body["breakpoints"][0]["verified"], true);
    assert_eq!(body["breakpoints"][1]["verified"], false);
    assert!(body["breakpoints"][1]["message"].as_str().unwrap().contains("'nowhere'"), "{body}");
    client.ask("configurationDone", json!({}));
    let thread = client.stop("function breakpoint");
    let (function, at, frame) = client.stack(thread).swap_remove(0);
    assert_eq!((function.as_str(), at), ("walk", line("WALKING")));
    let value = client.ask("evaluate", json!({ "expression": "who", "frameId": frame }));
    assert_eq!(value["result"], "\"me\"");
    client.leave();
}

#[test]
fn log_points_say_their_text_at_each_hit_and_stop_nothing() {
    let mut client = launched(&program(), &[]);
    set(
        &mut client,
        &[
            json!({ "line": line("LOOP"), "logMessage": "again" }),
            json!({ "line": line("WALK"), "logMessage": "x={item->at.x} {item->name} sum {sum + 1}" }),
            json!({ "line": line("END"), "logMessage": "the end" }),
        ],
    );
    client.ask("configurationDone", json!({}));
    let mut said = Vec::new();
    loop {
        let event = client.next_event().unwrap();
        let body = &event["body"];
        match event["event"].as_str().unwrap() {
            "output" if body["category"] == "console" => {
                // One event may have several lines.
                let lines = body["output"].as_str().unwrap().lines().map(String::from);
                said.extend(lines.map(|text| (body["line"].as_u64().unwrap(), text)));
            }
            "stopped" => panic!("{body}"),
            "terminated" => break,
            _ => {}
        }
    }
    let again = said.iter().filter(|(at, text)| *at == line("LOOP") && text == "again").count();
    assert_eq!(again, 100);
    let walked: Vec<&str> = said.iter().filter(|(at, _)| *at == line("WALK")).map(|(_, text)| text.as_str()).collect();
    assert_eq!(walked, ["x=1 \"first\" sum 1", "x=3 \"second\" sum 4"]);
    // What was said right before the end of the program is not lost.
    assert_eq!(said.last(), Some(&(line("END"), "the end".into())), "{said:?}");
    client.leave();
}

#[test]
fn a_breakpoint_in_a_library_is_verified_when_the_library_is_loaded() {
    let mut client = launched(&program(), &[]);
    let body = client.ask("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "fflush" }] }));
    let number = body["breakpoints"][0]["id"].clone();
    assert_eq!(body["breakpoints"][0]["verified"], false);
    client.ask("configurationDone", json!({}));
    loop {
        let changed = client.event("breakpoint");
        if changed["breakpoint"]["id"] == number && changed["breakpoint"]["verified"] == true {
            break;
        }
    }
    let thread = client.stop("function breakpoint");
    assert!(client.stack(thread).iter().any(|(function, ..)| function == "main"));
    client.leave();
}

#[test]
fn breakpoints_that_are_removed_while_the_program_runs_stop_it_no_more() {
    let mut client = stopped_at(&["LOOP"], &[]);
    let thread = client.stop("breakpoint");
    set(&mut client, &[json!({ "line": line("PRINT") })]);
    client.ask("continue", json!({ "threadId": thread }));
    let thread = client.stop("breakpoint");
    assert_eq!(client.place(thread), ("main".into(), line("PRINT")));
    set(&mut client, &[]);
    client.ask("continue", json!({ "threadId": thread }));
    assert_eq!(end(&mut client).1, 3);
    client.leave();
}

#[test]
fn an_instruction_of_the_disassembly_can_have_a_breakpoint() {
    let mut client = stopped_at(&["CALL"], &[]);
    let thread = client.stop("breakpoint");
    let frames = client.ask("stackTrace", json!({ "threadId": thread }));
    let reference = &frames["stackFrames"][0]["instructionPointerReference"];
    let body = client.ask(
        "disassemble",
        json!({ "memoryReference": reference, "offset": 0, "instructionOffset": -3, "instructionCount": 10 }),
    );
    let all = body["instructions"].as_array().unwrap();
    assert_eq!(all.len(), 10);
    assert_eq!(all[3]["address"], *reference);
    assert_eq!(all[3]["line"], line("CALL"));
    assert!(all.iter().all(|one| one["instruction"] != "??"), "{body}");
    // A breakpoint inside of an instruction would change what the program does.
    let inside = json!([{ "instructionReference": reference, "offset": 1 }]);
    let refused = client.ask("setInstructionBreakpoints", json!({ "breakpoints": inside }));
    let why = refused["breakpoints"][0]["message"].as_str().unwrap();
    assert!(why.contains("is inside the instruction at"), "{why}");
    let next = &all[4]["address"];
    let set = client.ask("setInstructionBreakpoints", json!({ "breakpoints": [{ "instructionReference": next }] }));
    assert_eq!(set["breakpoints"][0]["verified"], true, "{set}");
    client.ask("continue", json!({ "threadId": thread }));
    let thread = client.stop("instruction breakpoint");
    let frames = client.ask("stackTrace", json!({ "threadId": thread }));
    assert_eq!(frames["stackFrames"][0]["instructionPointerReference"], *next);
    client.leave();
}

#[test]
fn what_is_wrong_with_a_breakpoint_is_said_beside_it() {
    let mut client = launched(&program(), &[]);
    let said = |client: &mut Client, one: Value| {
        let body = client.ask("setBreakpoints", json!({ "source": { "path": source() }, "breakpoints": [one] }));
        assert_eq!(body["breakpoints"][0]["verified"], false, "{body}");
        body["breakpoints"][0]["message"].as_str().unwrap().to_owned()
    };
    let at = line("LOOP");
    for (one, text) in [
        (json!({ "line": at, "condition": "i ==" }), "character 5"),
        (json!({ "line": at, "condition": "nothing == 3" }), "'nothing' is no argument"),
        (json!({ "line": at, "hitCondition": "often" }), "'often' is no number of hits"),
        (json!({ "line": at, "logMessage": "i is {i" }), "not closed"),
        (json!({ "line": 9999 }), "no code of this line"),
    ] {
        let said = said(&mut client, one);
        assert!(said.contains(text), "{said}");
    }
    let body =
        client.ask("breakpointLocations", json!({ "source": { "path": source() }, "line": at, "endLine": at + 1 }));
    assert_eq!(body["breakpoints"][0]["line"], at);
    client.leave();
}

#[test]
fn an_exception_stops_where_it_is_thrown() {
    let Some(program) = crate::common::build_with("g++", "thrown.cpp", &["-g", "-O0"]) else { return };
    let mut client = launched(&program, &[]);
    client.ask("setExceptionBreakpoints", json!({ "filters": ["fatal", "throw"] }));
    client.ask("configurationDone", json!({}));
    let stop = client.event("stopped");
    assert_eq!((&stop["reason"], &stop["text"]), (&json!("exception"), &json!("C++ exception thrown")));
    let thread = stop["threadId"].as_i64().unwrap();
    let stack = client.stack(thread);
    assert_eq!(stack[1].0, "thrower", "{stack:?}");
    client.ask("setExceptionBreakpoints", json!({ "filters": [] }));
    assert!(client.refused("setExceptionBreakpoints", json!({ "filters": ["often"] })).contains("'often'"));
    client.ask("continue", json!({ "threadId": thread }));
    assert_eq!(end(&mut client).1, 0);
    client.leave();
}

#[test]
fn a_thread_of_its_own_is_stopped_and_shown_beside_the_others() {
    let mut client = stopped_at(&["WORKED"], &[]);
    let thread = client.stop("breakpoint");
    assert_eq!(client.place(thread), ("work".into(), line("WORKED")));
    let threads = client.ask("threads", json!({}));
    let all: Vec<i64> = threads["threads"].as_array().unwrap().iter().map(|one| one["id"].as_i64().unwrap()).collect();
    assert!(all.len() == 2 && all.contains(&thread), "{threads}");
    let other = all.into_iter().find(|other| *other != thread).unwrap();
    assert!(client.stack(other).iter().any(|(function, ..)| function == "main"));
    client.ask("continue", json!({ "threadId": thread }));
    assert_eq!(end(&mut client).1, 3);
    client.leave();
}

#[test]
fn a_program_that_reaches_a_log_point_without_end_can_be_paused() {
    let mut client = launched(&program(), &["wait"]);
    set(&mut client, &[json!({ "line": line("WAIT"), "logMessage": "argc is {argc}" })]);
    client.ask("configurationDone", json!({}));
    let said = client.event("output");
    assert_eq!(said["output"], "argc is 2\n");
    let threads = client.ask("threads", json!({}));
    client.ask("pause", json!({ "threadId": threads["threads"][0]["id"] }));
    client.stop("pause");
    client.leave();
}
