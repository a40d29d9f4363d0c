//! Variables, expressions, memory and registers.

use serde_json::{Value, json};

use crate::client::Client;
use crate::{end, line, stopped_at};

/// The variables of a reference: names, types and values.
fn variables(client: &mut Client, reference: &Value) -> Vec<(String, String, String, Value)> {
    let body = client.ask("variables", json!({ "variablesReference": reference }));
    let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let all = body["variables"].as_array().unwrap();
    all.iter()
        .map(|one| (text(one, "name"), text(one, "type"), text(one, "value"), one["variablesReference"].clone()))
        .collect()
}

/// The reference of a scope of a frame.
fn scope(client: &mut Client, frame: u64, name: &str) -> Value {
    let body = client.ask("scopes", json!({ "frameId": frame }));
    let scope = body["scopes"].as_array().unwrap().iter().find(|scope| scope["name"] == name).cloned();
    scope.unwrap_or_else(|| panic!("{body}"))["variablesReference"].clone()
}

#[test]
fn the_variables_of_each_frame_are_a_tree() {
    let mut client = stopped_at(&["WALK"], &[]);
    let thread = client.stop("breakpoint");
    let stack = client.stack(thread);
    let locals = scope(&mut client, stack[0].2, "Locals");
    let own = variables(&mut client, &locals);
    let named = |name: &str, all: &[(String, String, String, Value)]| {
        all.iter().find(|one| one.0 == name).cloned().unwrap_or_else(|| panic!("no {name} in {all:?}"))
    };
    assert_eq!(named("who", &own).2, "\"me\"");
    assert_eq!(named("sum", &own).2, "0");
    let item = named("item", &own);
    assert!(item.1.contains("item"), "{item:?}");
    let target = variables(&mut client, &item.3);
    let (members, name) = match target.iter().find(|one| one.0 == "name") {
        Some(name) => (target.clone(), name.clone()),
        None => {
            let inner = variables(&mut client, &target[0].3);
            let name = named("name", &inner);
            (inner, name)
        }
    };
    assert_eq!(name.2, "\"first\"");
    let at = named("at", &members);
    assert_eq!(named("y", &variables(&mut client, &at.3)).2, "2");
    let main = stack.iter().find(|(function, ..)| function == "main").unwrap();
    let locals = scope(&mut client, main.2, "Locals");
    let all = variables(&mut client, &locals);
    let numbers = named("numbers", &all);
    let elements = variables(&mut client, &numbers.3);
    assert_eq!(elements.iter().map(|one| one.2.as_str()).collect::<Vec<_>>(), ["10", "20", "30"]);
    client.leave();
}

#[test]
fn expressions_have_values_in_their_frame() {
    let mut client = stopped_at(&["WALK"], &[]);
    let thread = client.stop("breakpoint");
    let stack = client.stack(thread);
    let (walk, main) = (stack[0].2, stack.iter().find(|(function, ..)| function == "main").unwrap().2);
    let value = |client: &mut Client, frame: u64, expression: &str| {
        let body = client.ask("evaluate", json!({ "expression": expression, "frameId": frame, "context": "hover" }));
        body["result"].as_str().unwrap().to_owned()
    };
    assert_eq!(value(&mut client, walk, "item->at.x"), "1");
    assert_eq!(value(&mut client, walk, "item->next->name"), "\"second\"");
    assert_eq!(value(&mut client, walk, "item->at.x + 40"), "41");
    assert_eq!(value(&mut client, main, "second.at.y"), "4");
    assert_eq!(value(&mut client, main, "numbers[2]"), "30");
    assert_eq!(value(&mut client, main, "argc + 1"), "2");
    assert_eq!(value(&mut client, main, "*(u32*)&total"), "328350");
    assert!(client.refused("evaluate", json!({ "expression": "nothing", "frameId": walk })).contains("'nothing'"));
    assert!(client.refused("evaluate", json!({ "expression": "1 +", "frameId": walk })).contains("character"));
    client.leave();
}

#[test]
fn a_watched_variable_stops_the_program_that_writes_it() {
    let mut client = stopped_at(&["DEEP"], &[]);
    let thread = client.stop("breakpoint");
    let (_, _, frame) = client.stack(thread).swap_remove(0);
    let locals = scope(&mut client, frame, "Locals");
    let numbers = variables(&mut client, &locals).into_iter().find(|one| one.0 == "numbers").unwrap();
    let info = client.ask("dataBreakpointInfo", json!({ "variablesReference": numbers.3, "name": "[1]" }));
    assert!(info["dataId"].is_string(), "{info}");
    let set = client
        .ask("setDataBreakpoints", json!({ "breakpoints": [{ "dataId": info["dataId"], "accessType": "write" }] }));
    if set["breakpoints"][0]["verified"] != true {
        crossing::skip("a_watched_variable_stops_the_program_that_writes_it", format_args!("{set}"));
        return;
    }
    crate::set(&mut client, &[]);
    client.ask("continue", json!({ "threadId": thread }));
    let thread = client.stop("data breakpoint");
    let at = client.place(thread).1;
    assert!(at == line("WRITE") || at == line("PRINT"), "{at}");
    client.ask("setDataBreakpoints", json!({ "breakpoints": [] }));
    client.ask("continue", json!({ "threadId": thread }));
    assert_eq!(end(&mut client).1, 3);
    client.leave();
}

#[test]
fn registers_and_memory_are_the_threads() {
    let mut client = stopped_at(&["WALKED"], &[]);
    let thread = client.stop("breakpoint");
    let stack = client.stack(thread);
    let frames = client.ask("stackTrace", json!({ "threadId": thread, "levels": 1 }));
    let registers = scope(&mut client, stack[0].2, "Registers");
    let all = variables(&mut client, &registers);
    let pc = frames["stackFrames"][0]["instructionPointerReference"].as_str().unwrap();
    assert!(all.iter().any(|(_, _, value, _)| value == pc), "{all:?}");
    let who = client.ask("evaluate", json!({ "expression": "who", "frameId": stack[0].2 }));
    let body = client.ask("readMemory", json!({ "memoryReference": who["memoryReference"], "count": 3 }));
    assert_eq!(body["data"], "bWUA");
    assert_eq!(
        client.ask("writeMemory", json!({ "memoryReference": who["memoryReference"], "data": "eW91" }))["bytesWritten"],
        3
    );
    let beyond = client.ask("readMemory", json!({ "memoryReference": "0x10", "count": 8 }));
    assert_eq!(beyond["unreadableBytes"], 8);
    client.leave();
}

#[test]
fn a_variable_that_is_set_has_its_value_in_the_program() {
    let mut client = stopped_at(&["CALL"], &[]);
    let thread = client.stop("breakpoint");
    let (_, _, frame) = client.stack(thread).swap_remove(0);
    let locals = scope(&mut client, frame, "Locals");
    let all = variables(&mut client, &locals);
    let reference = |name: &str| all.iter().find(|one| one.0 == name).unwrap().3.clone();
    let set = |client: &mut Client, reference: &Value, name: &str, value: &str| {
        client.request("setVariable", json!({ "variablesReference": reference, "name": name, "value": value }))
    };
    let first = reference("first");
    let at = variables(&mut client, &first).into_iter().find(|one| one.0 == "at").unwrap().3;
    let answer = set(&mut client, &at, "x", "100 + numbers_1");
    assert!(answer["message"].as_str().unwrap().contains("'numbers_1'"), "{answer}");
    let answer = set(&mut client, &at, "x", "first.at.y + 100");
    assert_eq!(answer["body"]["value"], "102", "{answer}");
    assert_eq!(variables(&mut client, &at)[0].2, "102");
    assert_eq!(set(&mut client, &reference("numbers"), "[1]", "-5")["body"]["value"], "-5");
    for (name, value, why) in [
        ("x", "1 << 40", "does not fit into 4 bytes"),
        ("x", "nothing", "'nothing'"),
        ("x", "1 +", "character"),
        ("nothing", "1", "there is no 'nothing'"),
    ] {
        let answer = set(&mut client, &at, name, value);
        assert!(answer["message"].as_str().unwrap().contains(why), "{answer}");
    }
    let answer = set(&mut client, &locals, "first", "1");
    assert!(answer["message"].as_str().unwrap().contains("no number and no pointer"), "{answer}");
    crate::set(&mut client, &[]);
    client.ask("continue", json!({ "threadId": thread }));
    // The sum has x with its new value.
    assert!(end(&mut client).0.starts_with("sum 113 "));
    client.leave();
}
