//! `ntrace explain --arch arm64`.

use serde_json::Value;

use crate::common::explain as common;
use crate::common::{run, stderr, stdout};

fn explain(args: &[&str]) -> Vec<Value> {
    common::explain(&[&["--arch", "arm64", "--at", "0x400000"], args].concat())
}

fn from_lines(lines: &str, args: &[&str]) -> String {
    common::from_lines(lines, &[&["--arch", "arm64"], args].concat())
}

fn text<'a>(answer: &'a Value, key: &str) -> &'a str {
    answer[key].as_str().unwrap_or_default()
}

#[test]
fn each_kind_of_plan_says_how_a_thread_leaves() {
    // Instruction, plan, exit.
    let cases = [
        ("14000004", "emulate", ""),                      // b .+16
        ("d503245f", "emulate", ""),                      // bti c
        ("58000043", "emulate", ""),                      // ldr x3, .+8
        ("91000421", "slot", "jump"),                     // add x1, x1, #1
        ("9c000040", "slot", "jump"),                     // ldr q0, .+8
        ("d65f0bff", "slot", "jump"),                     // retaa
        ("0420bc20", "slot", "trap"),                     // movprfx z0, z1
        ("5500001f", "slot", "step"),                     // retaasppc .
        ("d73f0822", "slot", "step_then_return_address"), // blraa x1, x2
        ("dac1a3fe", "refuse", ""),                       // paciasppc
        ("d50324ff", "refuse", ""),                       // pacm
        ("c8027c01", "refuse", ""),                       // stxr w2, x1, [x0]
    ];
    for (word, plan, exit) in cases {
        let answers = explain(&[word]);
        let answer = &answers[0];
        assert_eq!((text(answer, "plan"), text(answer, "exit")), (plan, exit), "{word}");
        assert_eq!(answer["boosted"].as_bool(), (plan == "slot").then_some(exit == "jump"), "{word}");
        assert_eq!(answer["reason"].is_string(), plan == "refuse", "{word}");
        assert_eq!(answer["slot_text"].is_array(), plan == "slot", "{word}");
    }
}

#[test]
fn a_slots_words_are_shown_at_its_addresses() {
    // ldr q0, .+8: the distance grows by the distance of the slot.
    let answers = explain(&["9c000040"]);
    assert_eq!(answers[0]["slot_address"], "0x3f0000");
    assert_eq!(answers[0]["slot"], "4000089c00400014");
    let lines: Vec<&str> = answers[0]["slot_text"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(lines, ["0x3f0000: 9c080040  ldr q0, $+0x10008", "0x3f0004: 14004000  b $+0x10000"]);
}

#[test]
fn the_scratch_register_of_a_slot_is_named_with_its_value() {
    // autiasppc .
    assert_eq!(explain(&["f380001f"])[0]["scratch"], "x0 = 0x400000");
    let text = stdout(&run(&["explain", "--arch", "arm64", "--at", "0x400000", "f380001f"]));
    assert!(text.contains("scratch      x0 = 0x400000"), "{text}");
}

#[test]
fn every_promised_key_is_there_and_null_where_it_does_not_apply() {
    // ldraa x1, [x2, #8]!
    let answers = explain(&["f8201c41"]);
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
        "flags_read",
        "flags_written",
        "memory",
        "kind",
        "landing_pad",
        "exclusive",
        "unpredictable",
    ] {
        assert!(answer.contains_key(key), "{key}");
    }
    assert_eq!((&answer["valid"], &answer["error"]), (&true.into(), &Value::Null));
    assert_eq!((&answer["hex"], &answer["length"]), (&"f8201c41".into(), &4.into()));
    assert_eq!((&answer["target"], &answer["exclusive"]), (&Value::Null, &Value::Null));
}

#[test]
fn branches_go_to_addresses_or_registers() {
    let of = |words: &[&str]| explain(words).iter().map(|answer| text(answer, "target").to_owned()).collect::<Vec<_>>();
    // bl .+16; cbnz x1, .-8; br x5; ret
    assert_eq!(of(&["94000004", "b5ffffc1", "d61f00a0", "d65f03c0"]), ["0x400010", "0x3ffffc", "x5", "x30"]);
}

#[test]
fn memory_is_shown_with_size_base_index_and_writeback() {
    let of = |word| explain(&[word])[0]["memory"][0].as_str().unwrap_or_default().to_owned();
    for (word, memory) in [
        ("f8408401", "reads 8 bytes at [x0], then x0 +8"), // ldr x1, [x0], #8
        ("f81f0fe0", "writes 8 bytes at [sp-16], which is written back"), // str x0, [sp, #-16]!
        ("f862d821", "reads 8 bytes at [x1, x2 sxtw << 3]"), // ldr x1, [x1, w2, sxtw #3]
        ("98000043", "reads 4 bytes at [0x400008]"),       // ldrsw x3, .+8
        ("f8210002", "reads and writes 8 bytes at [x0]"),  // ldadd x1, x2, [x0]
    ] {
        assert_eq!(of(word), memory, "{word}");
    }
}

#[test]
fn flags_are_shown_one_by_one() {
    // adc x0, x0, x1; subs x0, x0, x1; csel x0, x0, x1, eq
    let answers = explain(&["9a010000", "eb010000", "9a810000"]);
    let flags = |answer: &Value, key: &str| {
        answer[key].as_array().unwrap().iter().map(|flag| flag.as_str().unwrap()).collect::<String>()
    };
    let all: Vec<_> =
        answers.iter().map(|answer| (flags(answer, "flags_read"), flags(answer, "flags_written"))).collect();
    assert_eq!(all, [("c".into(), "".into()), ("".into(), "nzcv".into()), ("z".into(), "".into())]);
}

#[test]
fn eight_digits_are_a_word_and_others_bytes_of_memory() {
    for form in ["91000421", "0x91000421", "21 04 00 91", "21,04,00,91", "\\x21\\x04\\x00\\x91"] {
        assert_eq!(explain(&[form])[0]["text"], "add x1, x1, #0x1", "{form}");
    }
}

#[test]
fn instructions_follow_each_other_up_to_a_word_that_is_none() {
    let output = run(&["explain", "--arch", "arm64", "--json", "d503201f", "ffffffff", "d503201f"]);
    let answers: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[1]["error"], "undefined: 0xffffffff");
    let output = run(&["explain", "--arch", "arm64", "ffffffff"]);
    assert!(stdout(&output).contains("invalid      undefined: 0xffffffff"), "{}", stdout(&output));
}

#[test]
fn bytes_that_are_not_whole_words_are_a_usage_error() {
    for (hex, message) in [
        ("zz", "not a hexadecimal digit: 'z'"),
        ("9100042", "odd number of hexadecimal digits"),
        ("1f2003", "3 bytes are not a whole number of words"),
        ("", "HEX holds no bytes"),
    ] {
        let output = run(&["explain", "--arch", "arm64", hex]);
        assert_eq!(output.status.code(), Some(2), "{hex}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

#[test]
fn every_line_gets_one_answer_bad_ones_too() {
    let lines = "d503201f\nzz\n\n91\nffffffff\nd65f03c0 91000421\n";
    let answers: Vec<Value> =
        from_lines(lines, &["--json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let valid: Vec<bool> = answers.iter().map(|answer| answer["valid"].as_bool().unwrap()).collect();
    assert_eq!(valid, [true, false, false, false, false, true]);
    assert!(answers.iter().filter(|answer| answer["valid"] == false).all(|answer| answer["error"].is_string()));
    // Bytes after the first instruction of a line are not read.
    assert_eq!(answers[5]["text"], "ret");
    let short = from_lines(lines, &[]);
    assert_eq!(short.lines().count(), 6);
    assert!(short.lines().nth(4).unwrap().ends_with("invalid: undefined: 0xffffffff"), "{short}");
}
