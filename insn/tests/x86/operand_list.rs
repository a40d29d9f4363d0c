use insn::Access;
use insn::x86::{Mode, Operand, OperandKind, Reg, decode};

fn operands(bytes: &[u8]) -> Vec<Operand> {
    decode(bytes, Mode::INTEL_64).unwrap_or_else(|error| panic!("{bytes:02x?}: {error}")).operands().collect()
}

/// Kind, size, access of each, and whether it is implicit.
fn told(bytes: &[u8]) -> Vec<(OperandKind, u16, Access, bool)> {
    operands(bytes).iter().map(|operand| (operand.kind, operand.size, operand.access, operand.implicit)).collect()
}

const fn register(reg: Reg) -> OperandKind {
    OperandKind::Register(reg)
}

#[test]
fn operands_stand_in_the_manuals_order_and_implicit_ones_last() {
    // mul ecx
    assert_eq!(
        told(&[0xf7, 0xe1]),
        [
            (register(Reg::RCX), 4, Access::Read, false),
            (register(Reg::RAX), 4, Access::ReadWrite, true),
            (register(Reg::RDX), 4, Access::Write, true),
        ]
    );
}

#[test]
fn a_high_byte_register_is_told_from_its_low_byte() {
    assert_eq!(operands(&[0x88, 0xe1])[1].kind, OperandKind::HighByte(Reg::RAX));
    assert_eq!(operands(&[0x40, 0x88, 0xe1])[1].kind, register(Reg::RSP));
    assert_eq!(operands(&[0xb7, 0x01])[0].kind, OperandKind::HighByte(Reg::RBX));
}

#[test]
fn an_immediate_is_signed_where_it_is_extended_with_its_sign() {
    let immediate = |bytes| operands(bytes).last().map(|operand| (operand.kind, operand.size));
    let of = |value, signed, size| Some((OperandKind::Immediate { value, signed }, size));
    assert_eq!(immediate(&[0x48, 0x83, 0xc0, 0xff]), of(-1, true, 1));
    assert_eq!(immediate(&[0xc1, 0xe0, 0xff]), of(255, false, 1));
    assert_eq!(immediate(&[0xc5, 0xf1, 0xc6, 0xc2, 0x80]), of(128, false, 1));
    assert_eq!(immediate(&[0xd1, 0xe0]), Some((OperandKind::Constant(1), 0)));
}

#[test]
fn the_stack_of_a_push_is_an_implicit_operand() {
    let found = told(&[0x50]);
    assert_eq!(found[0], (register(Reg::RAX), 8, Access::Read, false));
    assert!(matches!(found[1], (OperandKind::Memory(_), 8, Access::Write, true)), "{found:?}");
    assert_eq!(found[2], (register(Reg::RSP), 8, Access::ReadWrite, true));
}

#[test]
fn a_mask_stands_behind_the_other_operands_and_makes_the_destination_read() {
    // vaddps zmm1{k2}, zmm3, zmm4
    let found = told(&[0x62, 0xf1, 0x64, 0x4a, 0x58, 0xcc]);
    assert_eq!(found[0], (register(Reg::vector(1)), 64, Access::ReadWrite, false));
    assert_eq!(found[3], (register(Reg::mask(2)), 8, Access::Read, false));
}

#[test]
fn w_exchanges_the_sources_of_fma4() {
    let second_is_memory = |bytes: &[u8]| matches!(operands(bytes)[2].kind, OperandKind::Memory(_));
    assert!(second_is_memory(&[0xc4, 0xe3, 0x79, 0x69, 0x00, 0x10]));
    assert!(!second_is_memory(&[0xc4, 0xe3, 0xf9, 0x69, 0x00, 0x10]));
}

#[test]
fn x87_registers_are_told_by_their_distance_from_the_top() {
    let found = told(&[0xdc, 0xc3]);
    assert_eq!(found[0], (OperandKind::X87(3), 10, Access::ReadWrite, false));
    assert_eq!(found[1], (OperandKind::X87(0), 10, Access::Read, false));
}

#[test]
fn a_branch_has_its_distance_and_a_far_one_its_pointer() {
    assert_eq!(operands(&[0xeb, 0xfe])[0].kind, OperandKind::Relative(-2));
    let far = decode(&[0xea, 1, 0, 0, 0x80, 0x33, 0], Mode::INTEL_32).unwrap();
    let first = far.operands().next().unwrap();
    assert_eq!((first.kind, first.size), (OperandKind::Far { selector: 0x33, offset: 0x8000_0001 }, 6));
}

#[test]
fn an_opcode_extension_is_told_where_modrm_names_no_register_in_its_place() {
    let extension = |bytes: &[u8]| decode(bytes, Mode::INTEL_64).unwrap().opcode_extension();
    assert_eq!(extension(&[0xf7, 0xe1]), Some(4));
    assert_eq!(extension(&[0xd8, 0xf1]), Some(6));
    assert_eq!(extension(&[0x0f, 0x01, 0xd0]), Some(2));
    assert_eq!(extension(&[0x89, 0xe1]), None);
    assert_eq!(extension(&[0x90]), None);
}

#[test]
fn rex_is_told_where_it_counts() {
    let rex = |bytes: &[u8]| decode(bytes, Mode::INTEL_64).unwrap().rex();
    assert_eq!(rex(&[0x4c, 0x89, 0xe1]), Some(0x4c));
    assert_eq!(rex(&[0x40, 0x88, 0xe1]), Some(0x40));
    assert_eq!(rex(&[0x48, 0x66, 0x89, 0xe1]), None);
    assert_eq!(rex(&[0xd5, 0x08, 0x89, 0xe1]), None);
    assert_eq!(rex(&[0x89, 0xe1]), None);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_hosts_mode_is_the_one_the_code_is_compiled_for() {
    assert_eq!(Mode::host(), Mode::INTEL_64);
}
