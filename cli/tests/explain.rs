//! `ntrace explain`.

mod common;

use common::explain::{explain, from_lines};
use common::{run, stderr, stdout};
use serde_json::Value;

#[test]
fn every_promised_key_is_there_and_null_where_it_does_not_apply() {
    let answers = explain(&["e8fb0f0000"]);
    let answer = answers[0].as_object().unwrap();
    for key in [
        "hex",
        "valid",
        "error",
        "length",
        "text",
        "flow",
        "target",
        "reads",
        "writes",
        "plan",
        "boosted",
        "reason",
        "slot",
        "jump",
        "no_jump",
        "jump_text",
        "flags_read",
        "flags_written",
        "memory",
        "fields",
    ] {
        assert!(answer.contains_key(key), "{key}");
    }
    assert_eq!(answer["flow"], "call");
    assert_eq!(answer["target"], "0x401000");
    assert_eq!(answer["plan"], "emulate");
    assert_eq!(answer["error"], Value::Null);
    assert_eq!(answer["slot"], Value::Null);
    assert_eq!(answer["memory"], Value::Null);
}

#[test]
fn the_address_moves_targets_and_rip_relative_operands() {
    assert_eq!(explain(&["--at", "0x7f0000001000", "eb10"])[0]["target"], "0x7f0000001012");
    let answers = explain(&["--at", "4096", "488b0510000000"]);
    assert_eq!(answers[0]["memory"]["address"], "0x1017");
    assert_eq!(answers[0]["plan"], "slot");
    assert_eq!(answers[0]["boosted"], true);
    assert!(answers[0]["slot"].as_str().unwrap().starts_with("488b05"));
}

#[test]
fn several_instructions_in_one_hex_follow_each_other() {
    let answers = explain(&["90 0x55 \\x48\\x89\\xe5"]);
    let hex: Vec<&str> = answers.iter().map(|answer| answer["hex"].as_str().unwrap()).collect();
    assert_eq!(hex, ["90", "55", "4889e5"]);
}

#[test]
fn every_line_gets_one_answer_bad_ones_too() {
    let text = from_lines("90\nzz\n\n48 89\nc3 90\nd4\n", &["--json"]);
    let answers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let valid: Vec<bool> = answers.iter().map(|answer| answer["valid"].as_bool().unwrap()).collect();
    assert_eq!(valid, [true, false, false, false, true, false]);
    assert!(answers.iter().filter(|answer| answer["valid"] == false).all(|answer| answer["error"].is_string()));
    // Bytes after the instruction are not an error.
    assert_eq!((&answers[4]["hex"], &answers[4]["length"]), (&"c390".into(), &1.into()));
}

#[test]
fn a_hundred_thousand_lines_are_answered_one_by_one() {
    let lines = "488b0510000000\ne8fb0f0000\nzz\nc5f8771122\n".repeat(25_000);
    assert_eq!(from_lines(&lines, &["--json"]).lines().count(), 100_000);
    assert_eq!(from_lines(&lines, &[]).lines().count(), 100_000);
}

#[test]
fn the_text_names_fields_flow_plan_and_slot() {
    let text = stdout(&run(&["explain", "--at", "0x401000", "488b0510000000"]));
    for part in ["mov rax, [rip+0x10]", "rex 48", "opcode 8b", "modrm 05", "0x401017", "slot, boosted", "jmp 0x401007"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_jump_is_shown_with_the_code_that_it_leads_to() {
    // push rbp; mov rbp, rsp; xor eax, eax; ret
    let answers = explain(&["--at", "0x401000", "554889e531c0c3"]);
    let text: Vec<&str> =
        answers[0]["jump_text"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let target = |line: &str| line.rsplit(' ').next().unwrap().to_string();
    assert!(text[0].starts_with("0x401000: e9 ") && text[1].starts_with(&target(text[0])), "{text:#?}");
    assert!(text[2].starts_with(&target(text[1])), "{text:#?}");
    assert_eq!(text.iter().filter(|line| line.contains("lock inc qword ptr")).count(), 1, "{text:#?}");
    for (line, end) in text[text.len() - 4..].iter().zip(["push rbp", "mov rbp, rsp", "xor eax, eax", "jmp 0x401006"]) {
        assert!(line.ends_with(end), "{line}");
    }
    assert_eq!(answers[0]["no_jump"], Value::Null);
    assert!(answers[0]["jump"].as_str().unwrap().starts_with("e9"));
}

#[test]
fn why_there_is_no_jump_is_told() {
    for (args, reason) in [
        (["--arch", "x86_64", "554889e5"], "the code ends too soon"),
        (["--arch", "x86_64", "0f059090909090"], "the instruction at 0x400000 enters the kernel"),
        (["--arch", "i386", "5589e531c0c3"], "only programs of 64 bits can have jumps"),
    ] {
        let answer = &explain(&args)[0];
        assert_eq!(
            (answer["no_jump"].as_str(), &answer["jump"], &answer["jump_text"]),
            (Some(reason), &Value::Null, &Value::Null)
        );
        let text = stdout(&run(&[&["explain"][..], &args].concat()));
        assert!(text.contains(&format!("  jump         none: {reason}\n")), "{text}");
    }
}

#[test]
fn vendors_differ_where_the_processors_do() {
    assert_eq!(explain(&["--vendor", "intel", "66e800000000"])[0]["length"], 6);
    assert_eq!(explain(&["--vendor", "amd", "66e80000"])[0]["length"], 4);
}

#[test]
fn thirty_two_bit_code_is_read_as_such() {
    assert_eq!(explain(&["--arch", "i386", "40"])[0]["text"], "inc eax");
}

#[test]
fn sixteen_bit_code_is_read_as_such_and_gets_no_breakpoint() {
    let answers = explain(&["--arch", "i8086", "b80102", "8b4702", "66b801020304", "eafeca0df0"]);
    let texts: Vec<&str> = answers.iter().map(|answer| answer["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["mov ax, 0x201", "mov ax, [bx+0x2]", "mov eax, 0x4030201", "jmp far 0xcafe, 0xf00d"]);
    let lengths: Vec<u64> = answers.iter().map(|answer| answer["length"].as_u64().unwrap()).collect();
    assert_eq!(lengths, [3, 3, 6, 5]);
    assert_eq!(answers[1]["memory"]["size"], 2);
    assert!(answers[0]["reason"].as_str().unwrap().contains("16-bit"), "{}", answers[0]);
    // A jump wraps around at the end of the segment.
    assert_eq!(explain(&["--arch", "i8086", "--at", "0xfffe", "eb10"])[0]["target"], "0x10");
}

#[test]
fn wrong_hex_is_a_usage_error() {
    for args in [&["explain", "zz"][..], &["explain", "4"]] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).starts_with("ntrace: "), "{}", stderr(&output));
    }
}

#[test]
fn bytes_that_are_no_instruction_give_the_reason_and_status_1() {
    let output = run(&["explain", "f00f0b"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("invalid"), "{}", stdout(&output));
}

#[test]
fn plans_of_arm64_look_at_the_code_around() {
    let key = |answer: &Value, key: &str| answer[key].as_str().unwrap_or_default().to_owned();
    // 1: ldxr x1, [x0]; add x1, x1, #1; stxr w2, x1, [x0]; cbnz w2, 1b
    let answers =
        explain(&["--arch", "arm64", "--at", "0x400000", "c85f7c01", "91000421", "c8027c01", "35ffffa2", "d73f0822"]);
    let plans: Vec<String> = answers.iter().map(|answer| key(answer, "plan")).collect();
    assert_eq!(plans, ["slot", "refuse", "refuse", "emulate", "slot"]);
    assert!(key(&answers[1], "reason").ends_with("0x400000 and 0x40000c are not"), "{}", answers[1]);
    let exits = [&answers[0], &answers[4]].map(|answer| key(answer, "exit"));
    assert_eq!(exits, ["jump", "step_then_return_address"]);
    assert_eq!(answers[0]["slot_text"].as_array().map(Vec::len), Some(2));
    // A line is one instruction, without the code around it.
    assert!(from_lines("91000421\n", &["--arch", "arm64"]).contains("; slot, boosted"));
}
