//! Agent expressions as conditions of `ubp`, which hold or not without a stop of the thread.

use ubp::arch::Reg;
use ubp::{Comparison, Condition, Operand};

use super::op::{Binary, Expression, Op, extend};

/// A value whose dependence on registers and memory is known.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Constant(u64),
    /// A register plus an offset.
    Register(Reg, i64),
    /// The low bytes of a register, extended.
    Part {
        register: Reg,
        size: u8,
        signed: bool,
    },
    /// Memory, extended.
    Memory {
        base: Option<Reg>,
        offset: i64,
        size: u8,
        signed: bool,
    },
    /// One if the condition holds, else zero.
    Truth(Condition),
}

/// The most ways through an expression, and the most instructions on all of them.
const MOST_WAYS: usize = 16;
const MOST_STEPS: usize = 2048;

/// A path through the expression that is not followed to its end.
struct Way {
    place: usize,
    stack: Vec<Value>,
    /// What must hold for this way to be gone.
    conditions: Vec<Condition>,
}

/// The condition that holds exactly where the expression is not zero; `None` if no condition says that. `register` names the register of a
/// number.
pub(crate) fn lower(expression: &Expression, register: &dyn Fn(u16) -> Option<Reg>) -> Option<Condition> {
    let mut open = vec![Way { place: expression.start(), stack: Vec::new(), conditions: Vec::new() }];
    let mut holding: Option<Condition> = None;
    let (mut ways, mut steps) = (1, 0);
    while let Some(mut way) = open.pop() {
        loop {
            steps += 1;
            if steps > MOST_STEPS || ways > MOST_WAYS {
                return None;
            }
            let op = expression.op(way.place);
            way.place += 1;
            match op {
                Op::End => {
                    let all = match truth(way.stack.pop()?)? {
                        Known::Always => way.conditions.into_iter().reduce(Condition::and)?,
                        Known::Never => break,
                        Known::If(condition) => way.conditions.into_iter().chain([condition]).reduce(Condition::and)?,
                    };
                    holding = Some(match holding {
                        Some(others) => others.or(all),
                        None => all,
                    });
                    break;
                }
                Op::Goto(offset) => way.place = expression.place(*offset)?,
                Op::GotoIf(offset) => {
                    let there = expression.place(*offset)?;
                    match truth(way.stack.pop()?)? {
                        Known::Always => way.place = there,
                        Known::Never => {}
                        Known::If(condition) => {
                            ways += 1;
                            let mut conditions = way.conditions.clone();
                            conditions.push(opposite(&condition)?);
                            open.push(Way { place: way.place, stack: way.stack.clone(), conditions });
                            way.conditions.push(condition);
                            way.place = there;
                        }
                    }
                }
                op => apply(op, &mut way.stack, register)?,
            }
        }
    }
    holding
}

/// Carries out an instruction that is no jump.
fn apply(op: &Op, stack: &mut Vec<Value>, register: &dyn Fn(u16) -> Option<Reg>) -> Option<()> {
    let value = match op {
        Op::Constant(value) => Value::Constant(*value),
        Op::Register(number) => Value::Register(register(*number)?, 0),
        Op::Duplicate => stack.last()?.clone(),
        Op::Pick(depth) => stack.get(stack.len().checked_sub(usize::from(*depth) + 1)?)?.clone(),
        Op::Pop => return stack.pop().map(drop),
        Op::Swap => {
            let (b, a) = (stack.pop()?, stack.pop()?);
            stack.push(b);
            a
        }
        Op::LogicalNot => match truth(stack.pop()?)? {
            Known::Always => Value::Constant(0),
            Known::Never => Value::Constant(1),
            Known::If(condition) => Value::Truth(opposite(&condition)?),
        },
        Op::Read(size) => match stack.pop()? {
            Value::Constant(address) => {
                Value::Memory { base: None, offset: address as i64, size: *size, signed: false }
            }
            Value::Register(base, offset) => Value::Memory { base: Some(base), offset, size: *size, signed: false },
            _ => return None,
        },
        Op::Extend(bits) => narrow(stack.pop()?, *bits, true)?,
        Op::ZeroExtend(bits) => narrow(stack.pop()?, *bits, false)?,
        Op::Binary(binary) => {
            let (b, a) = (stack.pop()?, stack.pop()?);
            combine(*binary, a, b)?
        }
        _ => return None,
    };
    stack.push(value);
    Some(())
}

/// A value cut to its low bits and extended again.
fn narrow(value: Value, bits: u8, signed: bool) -> Option<Value> {
    let size = bits / 8;
    let whole = bits % 8 == 0 && matches!(size, 1 | 2 | 4 | 8);
    Some(match value {
        Value::Constant(value) => Value::Constant(extend(value, bits, signed)),
        Value::Register(register, 0) if size == 8 => Value::Register(register, 0),
        Value::Register(register, 0) if whole => Value::Part { register, size, signed },
        Value::Memory { base, offset, size: own, .. } if whole && own == size => {
            Value::Memory { base, offset, size, signed }
        }
        Value::Part { register, size: own, .. } if whole && own == size => Value::Part { register, size, signed },
        // Extended to more bits than it has, without a sign or with the same one, a value stays what it is.
        Value::Memory { size: own, signed: is_signed, .. } | Value::Part { size: own, signed: is_signed, .. }
            if whole && size > own && (signed || !is_signed) =>
        {
            value
        }
        Value::Truth(condition) if bits > 1 => Value::Truth(condition),
        _ => return None,
    })
}

fn combine(binary: Binary, a: Value, b: Value) -> Option<Value> {
    use Comparison::{Above, Below, Equal, Greater, Less};
    use Value::{Constant, Register};
    Some(match (binary, a, b) {
        (binary, Constant(a), Constant(b)) => Constant(binary.apply(a, b)?),
        (Binary::Add, Register(register, offset), Constant(more))
        | (Binary::Add, Constant(more), Register(register, offset)) => {
            Register(register, offset.wrapping_add(more as i64))
        }
        (Binary::Subtract, Register(register, offset), Constant(less)) => {
            Register(register, offset.wrapping_sub(less as i64))
        }
        (Binary::Equal, left, Constant(right)) | (Binary::Equal, Constant(right), left) => {
            compare(left, Equal, Equal, right)?
        }
        (Binary::LessSigned, left, Constant(right)) => compare(left, Less, Below, right)?,
        (Binary::LessSigned, Constant(right), left) => compare(left, Greater, Above, right)?,
        (Binary::LessUnsigned, left, Constant(right)) => compare_unsigned(left, Below, right)?,
        (Binary::LessUnsigned, Constant(right), left) => compare_unsigned(left, Above, right)?,
        _ => return None,
    })
}

/// The comparison of a value with a constant, as numbers of 64 bits with a sign. A value that is extended without a sign is compared by
/// `unsigned`, which is the same while the constant is not negative.
fn compare(left: Value, signed: Comparison, unsigned: Comparison, right: u64) -> Option<Value> {
    let (operand, size, is_signed) = operand(left)?;
    let bits = 8 * size;
    let fits = extend(right, bits, is_signed || size == 8) == right;
    if !fits {
        // Equal to what the value can never be. Less and greater have the same answer for all values then.
        return matches!(signed, Comparison::Equal).then_some(Value::Constant(0));
    }
    let (comparison, right) = match (is_signed || size == 8, signed) {
        (_, Comparison::Equal) => (Comparison::Equal, extend(right, bits, false)),
        (true, comparison) => (comparison, right),
        (false, _) => (unsigned, right),
    };
    Some(Value::Truth(operand.is(comparison, right)))
}

/// The comparison of a value with a constant, as numbers of 64 bits without a sign.
fn compare_unsigned(left: Value, comparison: Comparison, right: u64) -> Option<Value> {
    let (operand, size, is_signed) = operand(left)?;
    let is_same = (!is_signed || size == 8) && extend(right, 8 * size, false) == right;
    is_same.then(|| Value::Truth(operand.is(comparison, right)))
}

/// What a condition compares for a value: the operand, its bytes, and whether they are extended by their sign.
fn operand(value: Value) -> Option<(Operand, u8, bool)> {
    match value {
        Value::Register(register, 0) => Some((Operand::Register(register), 8, false)),
        Value::Part { register, size, signed } => Some((Operand::Part { register, size }, size, signed)),
        Value::Memory { base, offset, size, signed } => Some((Operand::Memory { base, offset, size }, size, signed)),
        _ => None,
    }
}

enum Known {
    Always,
    Never,
    If(Condition),
}

/// Whether a value is not zero.
fn truth(value: Value) -> Option<Known> {
    Some(match value {
        Value::Constant(0) => Known::Never,
        Value::Constant(_) => Known::Always,
        Value::Truth(condition) => Known::If(condition),
        other => Known::If(operand(other)?.0.is(Comparison::NotEqual, 0)),
    })
}

/// The condition that holds where this one does not.
fn opposite(condition: &Condition) -> Option<Condition> {
    Some(match condition {
        Condition::Compare { left, comparison, right } => left.is(comparison.opposite()?, *right),
        Condition::All(parts) => {
            parts.iter().map(opposite).collect::<Option<Vec<_>>>()?.into_iter().reduce(Condition::or)?
        }
        Condition::Any(parts) => {
            parts.iter().map(opposite).collect::<Option<Vec<_>>>()?.into_iter().reduce(Condition::and)?
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lowered(code: &[u8]) -> Option<Condition> {
        lower(&Expression::parse(code).unwrap(), &|number| (number == 6).then_some(BASE))
    }

    #[cfg(target_arch = "x86_64")]
    const BASE: Reg = Reg::RBP;
    #[cfg(target_arch = "aarch64")]
    const BASE: Reg = Reg::general(29);

    /// `*(int *)(base - 20)`.
    const LOCAL: [u8; 9] = [0x26, 0, 6, 0x22, 20, 0x03, 0x19, 0x16, 32];
    const LEFT: Operand = Operand::Memory { base: Some(BASE), offset: -20, size: 4 };

    fn code(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    #[test]
    fn a_local_variable_is_compared_with_its_width_and_sign() {
        let equal = code(&[&LOCAL, &[0x23, 1, 0, 0x13, 0x27]]);
        assert_eq!(lowered(&equal), Some(LEFT.is(Comparison::Equal, 256)));
        let minus_one = code(&[&LOCAL, &[0x22, 0xff, 0x16, 8, 0x13, 0x27]]);
        assert_eq!(lowered(&minus_one), Some(LEFT.is(Comparison::Equal, 0xffff_ffff)));
        let greater = code(&[&[0x22, 5], &LOCAL, &[0x14, 0x27]]);
        assert_eq!(lowered(&greater), Some(LEFT.is(Comparison::Greater, 5)));
        let not_less = code(&[&LOCAL, &[0x22, 5, 0x14, 0x0e, 0x27]]);
        assert_eq!(lowered(&not_less), Some(LEFT.is(Comparison::GreaterOrEqual, 5)));
        assert_eq!(lowered(&code(&[&LOCAL, &[0x27]])), Some(LEFT.is(Comparison::NotEqual, 0)));
    }

    #[test]
    fn both_of_two_conditions_are_two_ways_of_which_one_holds() {
        // a == 1; if_goto second; const 0; goto end; second: a < 9; end: end
        let first = code(&[&LOCAL, &[0x22, 1, 0x13]]);
        let second = code(&[&LOCAL, &[0x22, 9, 0x14]]);
        let at = (first.len() + 8) as u8;
        let end = at + second.len() as u8;
        let all = code(&[&first, &[0x20, 0, at, 0x22, 0, 0x21, 0, end], &second, &[0x27]]);
        let expected = LEFT.is(Comparison::Equal, 1).and(LEFT.is(Comparison::Less, 9));
        assert_eq!(lowered(&all), Some(expected));
    }

    #[test]
    fn what_no_condition_says_is_left_to_the_evaluation() {
        let sum = code(&[&LOCAL, &LOCAL, &[0x02, 0x22, 1, 0x13, 0x27]]);
        let endless = [0x21, 0, 0];
        let other_register = [0x26, 0, 1, 0x27];
        let always = [0x22, 1, 0x27];
        for code in [&sum[..], &endless, &other_register, &always] {
            assert_eq!(lowered(code), None, "{code:x?}");
        }
    }
}
