//! The examples do what they show.
#![allow(dead_code, reason = "an example's main function is not called")]

#[path = "../examples/branches_of_a_program.rs"]
mod branches_of_a_program;
#[cfg(target_arch = "x86_64")]
#[path = "../examples/dead_registers_of_libc.rs"]
mod dead_registers_of_libc;
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

#[test]
#[cfg(target_arch = "x86_64")]
fn many_instructions_of_the_c_library_have_a_register_that_nobody_needs() {
    let mut out = Vec::new();
    dead_registers_of_libc::run(5_000, &mut out).unwrap();
    let out = text(out);
    let counts: Vec<u64> = out.lines().filter_map(|line| line.split(' ').next()?.parse().ok()).collect();
    assert_eq!((counts.len(), counts[0]), (3, 5_000), "{out}");
    assert!(counts[1] > 500 && counts[2] > 500, "{out}");
}
