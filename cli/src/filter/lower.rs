//! Makes conditions that run in the program or in the kernel, as far as there are some.

use ubp::rules;
use ubp::{Arch, Comparison, Condition, Operand};

use super::bind::{Property, Source, asks_for};
use super::expression::{Expression, Node, Operator, range};
use crate::values::Kind;

/// The most bits of which a condition tests whether one is set.
const MOST_BITS: u32 = 8;

/// What decides at one site.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    /// The condition that the program or the kernel tests. A hit for which it does not hold never reaches the tracer.
    pub(crate) condition: Option<Condition>,
    /// Whether the condition says all that the expression says, so that the tracer need not evaluate the expression.
    pub(crate) whole: bool,
    /// Whether the expression can never hold, because no value of an operand's type satisfies a comparison.
    pub(crate) never: bool,
}

/// What a part of an expression is as a condition.
enum Lowered {
    Always,
    Never,
    When(Condition),
}

/// What decides at a site of code of an architecture.
pub(super) fn decide(root: &Expression<Source>, arch: Arch) -> Decision {
    let lower = Lower { arch };
    match lower.lowered(root, false) {
        Some(Lowered::Always) => return Decision { condition: None, whole: true, never: false },
        Some(Lowered::Never) => return Decision { condition: None, whole: true, never: true },
        Some(Lowered::When(condition)) => return Decision { condition: Some(condition), whole: true, never: false },
        None => {}
    }
    // The number of hits is that of arrivals where the expression asks for it.
    let counts = asks_for(root, Property::Hits);
    let mut parts = Vec::new();
    conjuncts(root, &mut parts);
    let mut decision = Decision { condition: None, whole: false, never: false };
    for lowered in parts.into_iter().filter(|_| !counts).filter_map(|part| lower.lowered(part, false)) {
        match (lowered, decision.condition.take()) {
            (Lowered::Never, _) => return Decision { condition: None, whole: true, never: true },
            (Lowered::Always, before) => decision.condition = before,
            (Lowered::When(part), before) => {
                decision.condition = Some(before.map_or(part.clone(), |before| before.and(part)));
            }
        }
    }
    decision
}

/// The parts that all have to hold.
fn conjuncts<'a>(expression: &'a Expression<Source>, parts: &mut Vec<&'a Expression<Source>>) {
    match &expression.node {
        Node::Two(Operator::And, left, right) => {
            conjuncts(left, parts);
            conjuncts(right, parts);
        }
        _ => parts.push(expression),
    }
}

struct Lower {
    arch: Arch,
}

/// The left side of a comparison.
struct Side {
    operand: Operand,
    size: u8,
    signed: bool,
}

impl Lower {
    /// The condition that holds exactly where the expression does; if `negated`, exactly where it does not.
    fn lowered(&self, expression: &Expression<Source>, negated: bool) -> Option<Lowered> {
        match &expression.node {
            Node::Not(inner) => self.lowered(inner, !negated),
            Node::Two(operator @ (Operator::And | Operator::Or), left, right) => {
                let (left, right) = (self.lowered(left, negated)?, self.lowered(right, negated)?);
                Some(join(left, right, (*operator == Operator::And) != negated))
            }
            Node::Two(operator, left, right) if operator.compares() => {
                let (operator, side, constant) = match (left.constant(), right.constant()) {
                    (None, Some(constant)) => (*operator, left, constant),
                    (Some(constant), None) => (turned(*operator), right, constant),
                    _ => return None,
                };
                self.compared(side, operator, constant, negated)
            }
            Node::Number(value) => Some(if (*value != 0) != negated { Lowered::Always } else { Lowered::Never }),
            _ => self.compared(expression, Operator::NotEqual, 0, negated),
        }
    }

    /// A comparison of a part with a constant.
    fn compared(
        &self,
        side: &Expression<Source>,
        operator: Operator,
        constant: i128,
        negated: bool,
    ) -> Option<Lowered> {
        if let Node::Two(Operator::BitAnd, left, right) = &side.node {
            let (masked, mask) = match (left.constant(), right.constant()) {
                (None, Some(mask)) => (left, mask),
                (Some(mask), None) => (right, mask),
                _ => return None,
            };
            return self.masked(masked, mask, operator, constant, negated);
        }
        compare(self.side(side)?, if negated { opposite(operator)? } else { operator }, constant)
    }

    /// A comparison of some bits of a part.
    fn masked(
        &self,
        side: &Expression<Source>,
        mask: i128,
        operator: Operator,
        constant: i128,
        negated: bool,
    ) -> Option<Lowered> {
        let Side { operand, size, signed } = self.side(side)?;
        let all = if signed || mask <= 0 || mask > range(size, false).1 { return None } else { mask as u64 };
        let has = |bits| operand.is(Comparison::HasBits, bits);
        let condition = match (operator, negated) {
            (Operator::Equal, false) if constant == mask => has(all),
            (Operator::NotEqual, true) if constant == mask => has(all),
            (Operator::NotEqual, false) | (Operator::Equal, true) if constant == 0 && all.count_ones() <= MOST_BITS => {
                let bits = (0..64).map(|bit| 1 << bit).filter(|bit| all & bit != 0);
                bits.map(has).reduce(Condition::or)?
            }
            _ => return None,
        };
        Some(Lowered::When(condition))
    }

    fn side(&self, expression: &Expression<Source>) -> Option<Side> {
        match &expression.node {
            Node::Name(source) => self.named(source),
            Node::Load { size, signed, address } => {
                let operand = match &address.node {
                    Node::Address(Source::Address(address)) => absolute(*address, *size),
                    Node::Name(_) => self.memory(address, 0, *size)?,
                    Node::Two(operator @ (Operator::Plus | Operator::Minus), base, offset) => {
                        let offset = offset.constant()?;
                        let offset = if *operator == Operator::Minus { offset.checked_neg()? } else { offset };
                        self.memory(base, i64::try_from(offset).ok()?, *size)?
                    }
                    _ => return None,
                };
                Some(Side { operand, size: *size, signed: *signed })
            }
            Node::Cast { size, signed, inner } => {
                let inner = self.side(inner).filter(|inner| *size <= inner.size)?;
                let operand = match inner.operand {
                    Operand::Register(register) | Operand::Part { register, .. } => {
                        Operand::Part { register, size: *size }
                    }
                    Operand::Memory { base, offset, .. } => Operand::Memory { base, offset, size: *size },
                    _ => return None,
                };
                Some(Side { operand, size: *size, signed: *signed })
            }
            _ => None,
        }
    }

    /// Memory at an offset from a variable's address, or from a register that holds an address.
    fn memory(&self, base: &Expression<Source>, offset: i64, size: u8) -> Option<Operand> {
        match &base.node {
            Node::Address(Source::Address(address)) => Some(absolute(address.checked_add_signed(offset)?, size)),
            Node::Name(source) => match self.named(source)?.operand {
                Operand::Register(base) => Some(Operand::Memory { base: Some(base), offset, size }),
                _ => None,
            },
            _ => None,
        }
    }

    fn named(&self, source: &Source) -> Option<Side> {
        let width = self.arch.width() as u8;
        match source {
            Source::Property(Property::Hits) => Some(Side { operand: Operand::Arrivals, size: 8, signed: false }),
            Source::Argument { kind, register: Some(register), .. } => {
                let (size, signed) = match kind {
                    Kind::Integer { size, signed } | Kind::Enumeration { size, signed } => (*size, *signed),
                    Kind::Pointer => (width, false),
                    _ => return None,
                };
                let register = *register;
                let operand =
                    if size == width { Operand::Register(register) } else { Operand::Part { register, size } };
                Some(Side { operand, size, signed })
            }
            Source::Integer(number) => {
                let operand = rules::Value::Argument(u8::try_from(*number).ok()?).operand(self.arch)?;
                Some(Side { operand, size: width, signed: false })
            }
            Source::Register(register) => {
                Some(Side { operand: Operand::Register(*register), size: width, signed: false })
            }
            Source::Variable { address, size } => {
                Some(Side { operand: absolute(*address, *size), size: *size, signed: false })
            }
            _ => None,
        }
    }
}

fn absolute(address: u64, size: u8) -> Operand {
    Operand::Memory { base: None, offset: address as i64, size }
}

fn join(left: Lowered, right: Lowered, all: bool) -> Lowered {
    match (left, right) {
        (Lowered::Never, _) | (_, Lowered::Never) if all => Lowered::Never,
        (Lowered::Always, _) | (_, Lowered::Always) if !all => Lowered::Always,
        (Lowered::When(left), Lowered::When(right)) => {
            Lowered::When(if all { left.and(right) } else { left.or(right) })
        }
        (Lowered::When(part), _) | (_, Lowered::When(part)) => Lowered::When(part),
        (left, _) => left,
    }
}

/// The operator with its sides exchanged.
fn turned(operator: Operator) -> Operator {
    match operator {
        Operator::Less => Operator::Greater,
        Operator::LessOrEqual => Operator::GreaterOrEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterOrEqual => Operator::LessOrEqual,
        other => other,
    }
}

/// The operator that holds where this one does not.
fn opposite(operator: Operator) -> Option<Operator> {
    Some(match operator {
        Operator::Equal => Operator::NotEqual,
        Operator::NotEqual => Operator::Equal,
        Operator::Less => Operator::GreaterOrEqual,
        Operator::LessOrEqual => Operator::Greater,
        Operator::Greater => Operator::LessOrEqual,
        Operator::GreaterOrEqual => Operator::Less,
        _ => return None,
    })
}

fn compare(left: Side, operator: Operator, right: i128) -> Option<Lowered> {
    let (least, most) = range(left.size, left.signed);
    let least = if left.operand == Operand::Arrivals { 1 } else { least };
    // A comparison that does not depend on the left side is none for a breakpoint.
    let is_decided = match operator {
        Operator::Less | Operator::GreaterOrEqual => right <= least || right > most,
        Operator::Greater | Operator::LessOrEqual => !(least..most).contains(&right),
        _ => !(least..=most).contains(&right),
    };
    if is_decided && matches!(left.operand, Operand::Memory { .. }) {
        // Memory that cannot be read decides nothing.
        return None;
    }
    if is_decided {
        let holds = match operator {
            Operator::Less => right > most,
            Operator::LessOrEqual => right >= most,
            Operator::Greater => right < least,
            Operator::GreaterOrEqual => right <= least,
            Operator::NotEqual => true,
            _ => false,
        };
        return Some(if holds { Lowered::Always } else { Lowered::Never });
    }
    let comparison = match (operator, left.signed) {
        (Operator::Equal, _) => Comparison::Equal,
        (Operator::NotEqual, _) => Comparison::NotEqual,
        (Operator::Less, true) => Comparison::Less,
        (Operator::LessOrEqual, true) => Comparison::LessOrEqual,
        (Operator::Greater, true) => Comparison::Greater,
        (Operator::GreaterOrEqual, true) => Comparison::GreaterOrEqual,
        (Operator::Less, false) => Comparison::Below,
        (Operator::LessOrEqual, false) => Comparison::BelowOrEqual,
        (Operator::Greater, false) => Comparison::Above,
        (Operator::GreaterOrEqual, false) => Comparison::AboveOrEqual,
        _ => return None,
    };
    // Equality compares the bytes of both sides.
    let mask = u64::MAX >> (64 - 8 * u32::from(left.size.clamp(1, 8)));
    let right = if comparison.is_signed() { right as i64 as u64 } else { right as u64 & mask };
    Some(Lowered::When(left.operand.is(comparison, right)))
}
