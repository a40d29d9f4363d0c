//! Conditions.

use insn::x86::{Reg, RegSet};

use super::Refusal;
use super::frame::Frame;
use super::memory;
use super::probe::{Clause, Probe, Relation, Subject};
use super::writer::{Label, Writer};

/// `jmp rel32`
const JMP: &[u8] = &[0xe9];
/// The register that holds the number of arrivals while a condition is tested.
pub(super) const ARRIVALS: Reg = Reg::RDX;

/// The registers that the clauses of a probe use, given those that the rest of the probe uses.
pub(super) fn used(probe: &Probe<'_>, others: RegSet) -> RegSet {
    let clauses = || probe.condition.iter().copied().flatten();
    let with = |used: RegSet, clause: &Clause| match clause.subject {
        Subject::Memory(_) => used.with(Reg::RAX).with(Reg::RCX),
        Subject::Arrivals => used.with(ARRIVALS),
        Subject::Part { .. } => used.with(Reg::RAX),
        Subject::Register(_) => used,
    };
    let used = clauses().fold(others, with);
    let copied = |clause: &Clause| match clause.subject {
        Subject::Register(register) => {
            clause.relation == Relation::AllOf || matches!(register, Reg::RAX | Reg::RSP) || used.contains(register)
        }
        _ => clause.relation == Relation::AllOf,
    };
    if clauses().any(copied) { used.with(Reg::RAX) } else { used }
}

/// Whether a clause asks for the number of arrivals.
pub(super) fn counts(probe: &Probe<'_>) -> bool {
    probe.condition.iter().copied().flatten().any(|clause| clause.subject == Subject::Arrivals)
}

/// Goes to `fail` if the condition does not hold.
pub(super) fn test(writer: &mut Writer<'_>, frame: &Frame, probe: &Probe<'_>, pc: u64, fail: &mut Label) {
    let Some((last, others)) = probe.condition.split_last() else { return };
    let mut holds = Label::NEW;
    for clauses in others {
        let mut next = Label::NEW;
        for clause in *clauses {
            test_clause(writer, frame, clause, pc, &mut next);
        }
        writer.jump(JMP, &mut holds);
        writer.bind(&mut next);
    }
    for clause in *last {
        test_clause(writer, frame, clause, pc, fail);
    }
    writer.bind(&mut holds);
}

fn test_clause(writer: &mut Writer<'_>, frame: &Frame, clause: &Clause, pc: u64, fail: &mut Label) {
    let left = match clause.subject {
        Subject::Register(Reg::RIP) => {
            if !holds(clause.relation, pc, clause.value) {
                writer.jump(JMP, fail);
            }
            return;
        }
        Subject::Register(register) if frame.keeps(register) && clause.relation != Relation::AllOf => register,
        Subject::Register(register) => {
            frame.load(writer, Reg::RAX, register);
            Reg::RAX
        }
        Subject::Memory(operand) => {
            if operand.size > 8 {
                writer.refuse(Refusal::NoSuchSize);
            }
            memory::address(writer, frame, &operand, fail);
            memory::load(writer, 0, operand.size, fail);
            if clause.relation.is_signed() {
                extend(writer, operand.size, true);
            }
            Reg::RAX
        }
        Subject::Part { register, size } => {
            frame.load(writer, Reg::RAX, register);
            extend(writer, size, clause.relation.is_signed());
            Reg::RAX
        }
        Subject::Arrivals if clause.relation == Relation::AllOf => {
            // mov %rdx, %rax
            writer.emit(&[0x48, 0x89, 0xd0]);
            Reg::RAX
        }
        Subject::Arrivals => ARRIVALS,
    };
    compare(writer, left, clause, fail);
}

/// Extends the lowest `size` bytes of rax, by their sign or by zeroes.
fn extend(writer: &mut Writer<'_>, size: u8, signed: bool) {
    match (size, signed) {
        // movzbl %al, %eax; movzwl %ax, %eax; mov %eax, %eax
        (1, false) => writer.emit(&[0x0f, 0xb6, 0xc0]),
        (2, false) => writer.emit(&[0x0f, 0xb7, 0xc0]),
        (4, false) => writer.emit(&[0x89, 0xc0]),
        // movsbq %al, %rax; movswq %ax, %rax; movslq %eax, %rax
        (1, true) => writer.emit(&[0x48, 0x0f, 0xbe, 0xc0]),
        (2, true) => writer.emit(&[0x48, 0x0f, 0xbf, 0xc0]),
        (4, true) => writer.emit(&[0x48, 0x63, 0xc0]),
        (8, _) => {}
        _ => writer.refuse(Refusal::NoSuchSize),
    }
}

/// Compares a register with the clause's constant. For [`Relation::AllOf`] the register is rax, which changes.
fn compare(writer: &mut Writer<'_>, left: Reg, clause: &Clause, fail: &mut Label) {
    let value = clause.value;
    let [base, field] = [0x48 | left.number() >> 3, left.number() & 7];
    let rex = 0x48 | left.number() >> 3 << 2;
    let short = i32::try_from(value as i64).map(i32::to_le_bytes);
    if clause.relation == Relation::AllOf {
        // and value, %rax
        match short {
            Ok([a, b, c, d]) => writer.emit(&[0x48, 0x25, a, b, c, d]),
            Err(_) => writer.emit_constant(&[0x48, 0x23], 0, value),
        }
    }
    match (clause.relation, short) {
        // test $value, left
        (Relation::AnyOf, Ok([a, b, c, d])) => writer.emit(&[base, 0xf7, 0xc0 | field, a, b, c, d]),
        (Relation::AnyOf, Err(_)) => writer.emit_constant(&[rex, 0x85], field, value),
        // cmp $value, left
        (_, Ok([a, b, c, d])) => writer.emit(&[base, 0x81, 0xf8 | field, a, b, c, d]),
        (_, Err(_)) => writer.emit_constant(&[rex, 0x3b], field, value),
    }
    let condition = match clause.relation {
        Relation::Equal | Relation::AllOf => 5,
        Relation::NotEqual | Relation::AnyOf => 4,
        Relation::Below => 3,
        Relation::BelowOrEqual => 7,
        Relation::Above => 6,
        Relation::AboveOrEqual => 2,
        Relation::Less => 0xd,
        Relation::LessOrEqual => 0xf,
        Relation::Greater => 0xe,
        Relation::GreaterOrEqual => 0xc,
    };
    writer.jump(&[0x0f, 0x80 | condition], fail);
}

fn holds(relation: Relation, left: u64, right: u64) -> bool {
    match relation {
        Relation::Equal => left == right,
        Relation::NotEqual => left != right,
        Relation::Below => left < right,
        Relation::BelowOrEqual => left <= right,
        Relation::Above => left > right,
        Relation::AboveOrEqual => left >= right,
        Relation::Less => (left as i64) < right as i64,
        Relation::LessOrEqual => left as i64 <= right as i64,
        Relation::Greater => left as i64 > right as i64,
        Relation::GreaterOrEqual => left as i64 >= right as i64,
        Relation::AllOf => left & right == right,
        Relation::AnyOf => left & right != 0,
    }
}
