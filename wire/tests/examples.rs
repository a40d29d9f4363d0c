//! The examples do what they show.
#![allow(dead_code, reason = "an example's main function is not called")]

#[path = "../examples/channel_in_memory.rs"]
mod channel_in_memory;
#[path = "../examples/commands_as_bytes.rs"]
mod commands_as_bytes;

#[test]
fn commands_are_written_and_parsed() {
    let mut out = Vec::new();
    commands_as_bytes::run(&mut out).unwrap();
    let expected = "32 bytes: Attach { process: 1234, options: 0 }
40 bytes: Remove { debuggee: 1, addresses: [0, 0, 0, 0, 0, 0, 0, 0] }
";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn commands_are_carried_out_and_answered_in_memory() {
    let mut out = Vec::new();
    channel_in_memory::run(&mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let expected =
        "reply to command 1: 1 inserted, not set: [NotSet { index: 1, failure: Failure { status: Exists, detail: 0 } }]
reply to command 2: [Some(0), None]
reply to command 3: not supported here (0x0)
event: Ended { time: 0, debuggee: 1, status: 0 }
";
    assert_eq!(out, expected);
}
