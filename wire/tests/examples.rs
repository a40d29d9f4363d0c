//! The example does what it shows.
#![allow(dead_code, reason = "the example's main function is not called")]

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
