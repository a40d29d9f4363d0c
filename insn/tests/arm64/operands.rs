//! Operands as a list. fuzz/claims/tests/a64_operands.rs compares all of them with an assembler's text.

use insn::Access;
use insn::arm64::{
    Address, Array, Condition, Direction, Memory, Operand, OperandKind, Predication, Reg, RegSet, Shift, View, decode,
};

fn operands(word: u32) -> Vec<Operand> {
    decode(word).unwrap_or_else(|error| panic!("{word:08x}: {error}")).operands().collect()
}

fn explicit(word: u32) -> Vec<OperandKind> {
    operands(word).iter().filter(|operand| !operand.implicit).map(|operand| operand.kind).collect()
}

/// Registers, views and accesses.
fn registers(word: u32) -> Vec<(Reg, View, Access)> {
    let register = |operand: &Operand| match operand.kind {
        OperandKind::Register(register) => Some((register.reg, register.view, operand.access)),
        _ => None,
    };
    operands(word).iter().filter_map(register).collect()
}

fn immediates(word: u32) -> Vec<i64> {
    let value = |kind: OperandKind| match kind {
        OperandKind::Immediate(value) | OperandKind::Label(value) => Some(value),
        _ => None,
    };
    explicit(word).into_iter().filter_map(value).collect()
}

#[test]
fn registers_have_the_size_and_the_lanes_that_the_instruction_names() {
    let (write, read) = (Access::Write, Access::Read);
    let x = |n| Reg::general(n);
    let v = |n| Reg::vector(n);
    let vector = |lanes, size| View::Vector { lanes, size };
    // add w1, w2, w3; add x1, sp, x3, uxtx; fadd s1, s2, s3; fmla v1.4s, v2.4s, v3.s[1]; uzp1 z1.h, z2.h, z3.h
    assert_eq!(registers(0x0b03_0041), [1, 2, 3].map(|n| (x(n), View::Scalar(4), if n == 1 { write } else { read })));
    assert_eq!(registers(0x8b23_63e1)[1], (Reg::SP, View::Scalar(8), read));
    assert_eq!(registers(0x1e23_2841), [1, 2, 3].map(|n| (v(n), View::Scalar(4), if n == 1 { write } else { read })));
    let by_element = [(v(1), vector(4, 4), Access::ReadWrite), (v(2), vector(4, 4), read), (v(3), vector(0, 4), read)];
    assert_eq!(registers(0x4fa3_1041), by_element);
    assert!(matches!(explicit(0x4fa3_1041)[2], OperandKind::Register(last) if last.index == Some(1)));
    assert_eq!(registers(0x0563_6841).iter().map(|one| one.1).collect::<Vec<_>>(), [View::Scalable(2); 3]);
}

#[test]
fn immediates_are_decoded() {
    // movz x0, #1, lsl #16; and w0, w1, #0xff; ubfm; sshr v0.4s, v1.4s, #7; b .-4; adrp; ccmp x1, #2, #4, ne
    assert_eq!(immediates(0xd2a0_0020), [1]);
    assert_eq!(explicit(0xd2a0_0020)[2], OperandKind::Shift { kind: Shift::Lsl, amount: 16 });
    assert_eq!(immediates(0x1200_1c20), [0xff]);
    assert_eq!(immediates(0xd345_fc20), [5, 63]);
    assert_eq!(immediates(0x4f39_0420), [7]);
    assert_eq!(immediates(0x17ff_ffff), [-4]);
    assert_eq!(immediates(0x9000_0020), [0x4000]);
    assert_eq!(immediates(0xfa42_1824), [2, 4]);
    assert_eq!(explicit(0xfa42_1824)[3], OperandKind::Condition(Condition::new(1)));
    // fmov d0, #-1.5
    assert_eq!(explicit(0x1e7f_1000)[1], OperandKind::Float((-1.5f32).to_bits()));
}

#[test]
fn memory_is_what_the_instruction_accesses() {
    // ldp x0, x1, [sp, #16]!; ld1 {v0.4s, v1.4s}, [x2], x3
    let OperandKind::Memory(memory) = explicit(0xa9c1_07e0)[2] else { panic!("memory") };
    assert_eq!((memory.base, memory.displacement, memory.size), (Address::Register(Reg::SP), 16, 16));
    let list = explicit(0x4cc3_a840);
    assert!(matches!(list[0], OperandKind::Registers { count: 2, stride: 1, .. }), "{list:?}");
    assert!(matches!(list[1], OperandKind::Memory(Memory { index: Some(index), .. }) if index == Reg::general(3)));
}

#[test]
fn system_registers_slices_and_predicates_are_told() {
    // mrs x0, tpidr_el0; mova z0.b, p1/m, za0h.b[w12, 3]
    let OperandKind::System(register) = explicit(0xd53b_d040)[1] else { panic!("a system register") };
    let parts = (register.op0(), register.op1(), register.crn(), register.crm(), register.op2());
    assert_eq!(parts, (3, 3, 13, 0, 2));
    let kinds = explicit(0xc002_0460);
    assert!(matches!(kinds[1], OperandKind::Register(p1) if p1.predication == Some(Predication::Merging)));
    let OperandKind::Array(Array { tile: Some(0), size: 1, direction, slices: Some(slices), .. }) = kinds[2] else {
        panic!("{kinds:?}")
    };
    assert_eq!((direction, slices.index, slices.offset), (Some(Direction::Horizontal), Reg::general(12), 3));
}

#[test]
fn what_assemblers_do_not_write_is_implicit() {
    // bl .+4; pacia1716; nop
    let implicit = |word| operands(word).into_iter().filter(|one| one.implicit).collect::<Vec<_>>();
    assert_eq!(implicit(0x9400_0001).len(), 1);
    assert_eq!(registers(0x9400_0001), [(Reg::X30, View::Scalar(8), Access::Write)]);
    let [x16, x17] = [Reg::general(16), Reg::general(17)];
    let expected = [(x16, View::Scalar(8), Access::Read), (x17, View::Scalar(8), Access::ReadWrite)];
    assert_eq!(registers(0xd503_211f), expected);
    assert!(implicit(0xd503_201f).is_empty());
}

#[test]
fn every_register_that_is_read_or_written_is_an_operand_and_vice_versa() {
    let state =
        [Reg::PC, Reg::NZCV, Reg::FPCR, Reg::FPSR, Reg::FPMR, Reg::SVCR, Reg::GCSPR, Reg::TPIDR, Reg::SYSTEM, Reg::FFR];
    let state = state.into_iter().fold(RegSet::EMPTY, RegSet::with);
    let vectors = RegSet::from_bits(0xffff_ffff << 32 | 0xffff << 64);
    let (mut seed, mut compared) = (0x9e37_79b9_7f4a_7c15u64, 0);
    while compared < 300_000 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let Ok(insn) = decode((seed >> 32) as u32) else { continue };
        if insn.is_unpredictable() {
            continue;
        }
        compared += 1;
        let (mut read, mut written) = (RegSet::EMPTY, RegSet::EMPTY);
        for operand in insn.operands() {
            let set = operand.kind.registers();
            let is_memory =
                matches!(operand.kind, OperandKind::Memory(_) | OperandKind::Element { .. } | OperandKind::Array(_));
            if is_memory || matches!(operand.access, Access::Read | Access::ReadWrite) {
                read = read.union(set);
            }
            if matches!(operand.access, Access::Write | Access::ReadWrite) && !is_memory {
                written = written.union(set);
            }
            if let OperandKind::Memory(Memory { writeback: Some(_), base: Address::Register(base), .. }) = operand.kind
            {
                written = written.with(base);
            }
            if matches!(operand.kind, OperandKind::Array(_)) {
                written = written.with(Reg::ZA);
            }
        }
        let (reads, writes) = (insn.reads(), insn.writes());
        // Instructions of all vectors name none.
        let all = if writes.intersection(vectors) == vectors { vectors } else { RegSet::EMPTY };
        let missing = [
            reads.difference(read).difference(state),
            writes.difference(written).difference(state).difference(all),
            read.difference(reads).without(Reg::XZR).without(Reg::ZA).difference(state),
            written.difference(writes).without(Reg::XZR).without(Reg::ZA).difference(state),
        ];
        assert!(missing.iter().all(|set| set.is_empty()), "{insn:?} {}: {missing:?}", insn.mnemonic());
    }
}
