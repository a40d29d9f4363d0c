//! The examples do what they show.
#![allow(dead_code, reason = "an example's main function is not called")]

#[path = "../examples/branches_of_a_program.rs"]
mod branches_of_a_program;
#[path = "../examples/registers_of_an_instruction.rs"]
mod registers_of_an_instruction;

fn text(out: Vec<u8>) -> String {
    String::from_utf8(out).unwrap()
}

#[test]
fn registers_of_an_instruction_are_shown() {
    let mut out = Vec::new();
    let bytes = ["48", "01", "44", "24", "08"].map(String::from);
    registers_of_an_instruction::run(&bytes, &mut out).unwrap();
    let expected = "length  5
flow    Next, target None
reads   {rax, rsp}
writes  {flags}
flags   reads {}, writes {cf, pf, af, zf, sf, of}
memory  ReadWrite, 8 bytes at rsp+0x8
";
    assert_eq!(text(out), expected);
}

#[test]
fn branches_of_this_program_are_counted() {
    let mut out = Vec::new();
    branches_of_a_program::run(&std::env::current_exe().unwrap(), &mut out).unwrap();
    let out = text(out);
    for flow in ["Next", "Jump", "ConditionalJump", "Call", "Return"] {
        let line = out.lines().find(|line| line.split_whitespace().nth(1) == Some(flow)).expect(flow);
        let count: u64 = line.split_whitespace().next().unwrap().parse().unwrap();
        assert!(count > 100, "{line}");
    }
}
