//! The examples do what they show.
#![allow(dead_code, reason = "an example's main function is not called")]

#[path = "../examples/device.rs"]
mod device;
#[path = "../examples/emulator.rs"]
mod emulator;
#[path = "../examples/pass_a_breakpoint.rs"]
mod pass_a_breakpoint;
#[path = "../examples/refused_instructions.rs"]
mod refused_instructions;

#[test]
fn breakpoints_are_passed() {
    let mut out = Vec::new();
    pass_a_breakpoint::run(&mut out).unwrap();
    let expected = "call .+0x100: emulated, rip is 0x401100
ret: emulated, rip is 0x401005
mov 0x2000(%rip), %rax: runs at 0x500000 as [48, 8b, 05, 05, 30, f0, ff, e9, 00, 10, f0, ff], leaves by Jump
  0x500007 means 0x40100c, After the instruction
";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn instructions_of_an_exclusive_sequence_are_refused() {
    let mut out = Vec::new();
    refused_instructions::run(&mut out).unwrap();
    let expected = "0x1000 mov w3, #1         a copy that leaves by Jump
0x1004 ldxr w1, [x0]      a copy that leaves by Jump
0x1008 add w1, w1, w3     refused: in an exclusive sequence, whose store would fail each time; 0x1004 and 0x1010 are not
0x100c stxr w2, w1, [x0]  refused: in an exclusive sequence, whose store would fail each time; 0x1004 and 0x1010 are not
0x1010 cbnz w2, .-12      emulated
0x1014 ret                emulated
";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn an_emulator_takes_control_flow_from_stepping() {
    let mut out = Vec::new();
    emulator::run(100, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "5050 by 201 instructions of the emulator and 102 of stepping\n");
}

#[test]
fn a_device_gets_what_a_driver_writes_and_gives_what_it_reads() {
    let mut out = Vec::new();
    device::run(&mut out).unwrap();
    let expected = "mov: Write 4 bytes at 0xfe000000
  write 0xfe000000: [05, 00, 00, 00]
or: ReadWrite 2 bytes at 0xfe000004
  read 0xfe000004: [00, 00]
  write 0xfe000004: [42, 81]
movzx: Read 1 bytes at 0xfe000004
  read 0xfe000004: [42]
xchg: ReadWrite 4 bytes at 0xfe000000
  read 0xfe000000: [05, 00, 00, 00]
  write 0xfe000000: [09, 00, 00, 00]
rcx 0x42, rdx 0x5
";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}
