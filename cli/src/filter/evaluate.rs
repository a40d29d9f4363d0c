//! Computes an expression at a hit.

use std::time::Duration;

use ubp::rules::Glob;
use ubp::{Address, Arch, Event, Pid, Registers, Session, Tid};
use ubp_symbols::StackFrame;
use ubp_symbols::values::{Data, Held, Thread};

use super::bind::{Property, Source};
use super::expression::{Expression, Node, Operator};
use super::place::Place;
use super::value::Value;
use crate::native::{self, Reg};
use crate::process::Space;
use crate::values::{Callee, Kind, Value as Argument, scope};

/// The largest number of bytes of a text that a pattern is compared with.
const LONGEST: usize = 4096;

/// A thread that arrived at a breakpoint.
pub(crate) struct Arrived<'a> {
    session: &'a mut Session,
    space: &'a mut Space,
    thread: (Pid, Tid),
    /// The frame of a caller in which names are looked up; `None`: where the thread is.
    frame: Option<&'a StackFrame>,
    /// The address of the breakpoint.
    address: u64,
    /// The number of its hits.
    count: u64,
    /// The time since ntrace began.
    time: Duration,
    registers: Option<Registers>,
    arguments: Option<Vec<Argument>>,
    /// The function that has just returned, if one has.
    returned: Option<Callee>,
}

impl<'a> Arrived<'a> {
    pub(crate) fn new(
        session: &'a mut Session,
        space: &'a mut Space,
        event: &Event,
        address: u64,
        count: u64,
        time: Duration,
    ) -> Arrived<'a> {
        let (thread, frame, registers, arguments, returned) = ((event.pid, event.tid), None, None, None, None);
        Arrived { session, space, thread, frame, address, count, time, registers, arguments, returned }
    }

    /// A held thread in one of the frames of its stack.
    pub(crate) fn in_frame(
        session: &'a mut Session,
        space: &'a mut Space,
        thread: (Pid, Tid),
        frame: &'a StackFrame,
    ) -> Arrived<'a> {
        let (registers, arguments, returned) = (None, None, None);
        let (address, frame, count, time) = (frame.inside.0, Some(frame), 0, Duration::ZERO);
        Arrived { session, space, thread, frame, address, count, time, registers, arguments, returned }
    }

    /// A thread to which a function has just returned.
    pub(crate) fn returned(
        session: &'a mut Session,
        space: &'a mut Space,
        event: &Event,
        callee: Callee,
    ) -> Arrived<'a> {
        let arrived = Arrived::new(session, space, event, callee.function(), 0, Duration::ZERO);
        Arrived { returned: Some(callee), ..arrived }
    }

    /// The location.
    pub(super) fn place(&self) -> Place<'_> {
        match self.frame {
            Some(frame) if !frame.is_innermost => Place::in_caller(self.space, self.address),
            _ => Place::new(self.space, self.address),
        }
    }

    /// Whether an expression holds; `None` if what can be read does not decide it.
    pub(super) fn holds(&mut self, expression: &Expression<Source>) -> Option<bool> {
        match &expression.node {
            Node::Not(inner) => self.holds(inner).map(|holds| !holds),
            Node::Two(operator @ (Operator::And | Operator::Or), left, right) => {
                let deciding = *operator == Operator::Or;
                match self.holds(left) {
                    Some(holds) if holds == deciding => Some(deciding),
                    left => match self.holds(right) {
                        Some(holds) if holds == deciding => Some(deciding),
                        right => left.and(right),
                    },
                }
            }
            Node::Two(operator, left, right) if operator.compares() || *operator == Operator::Like => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.compared(*operator, left, right)
            }
            _ => self.value(expression)?.holds(),
        }
    }

    pub(super) fn value(&mut self, expression: &Expression<Source>) -> Option<Value> {
        let number = |value| Some(Value::Number(value));
        match &expression.node {
            Node::Number(value) | Node::Time(value) => number(*value),
            Node::Text(text) => Some(Value::Text(text.clone())),
            Node::Name(source) => self.named(source),
            Node::Address(Source::Address(address)) => number((*address).into()),
            Node::Address(_) => None,
            Node::Load { size, signed, address } => {
                let address = self.value(address)?.number()? as u64;
                self.load(address, *size, *signed).map(Value::Number)
            }
            Node::Cast { size, signed, inner } => {
                let value = self.value(inner)?.number()?;
                number(cut(value as u64, *size, *signed))
            }
            Node::Negative(inner) => match self.value(inner)? {
                Value::Float(value) => Some(Value::Float(-value)),
                other => other.number()?.checked_neg().map(Value::Number),
            },
            Node::Inverse(inner) => number(!self.value(inner)?.number()?),
            Node::Two(operator, left, right) if !is_logical(*operator) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                combine(*operator, left, right)
            }
            Node::Not(_) | Node::Two(..) => self.holds(expression).map(|holds| Value::Number(holds.into())),
        }
    }

    fn load(&mut self, address: u64, size: u8, signed: bool) -> Option<i128> {
        let mut bytes = [0; 8];
        let wanted = bytes.get_mut(..size.into())?;
        let read = self.session.read_memory(self.thread.0, Address(address), wanted).ok()?;
        (read == usize::from(size)).then(|| cut(u64::from_le_bytes(bytes), size, signed))
    }

    fn registers(&mut self) -> Option<Registers> {
        // What unwinding recovers of a caller's registers are its variables, not all registers.
        if self.registers.is_none() && self.frame.is_none_or(|frame| frame.is_innermost) {
            self.registers = self.session.registers(self.thread.1).ok();
        }
        self.registers
    }

    fn register(&mut self, register: Reg) -> Option<u64> {
        let registers = self.registers()?;
        let value = registers.get(register)?;
        Some(if registers.arch() == Arch::I386 { value & u64::from(u32::MAX) } else { value })
    }

    fn named(&mut self, source: &Source) -> Option<Value> {
        let number = |value: u64| Some(Value::Number(value.into()));
        match source {
            Source::Property(property) => self.property(*property),
            Source::Argument { name, kind, register } => {
                let value = match (kind, register) {
                    (Kind::Integer { size, signed } | Kind::Enumeration { size, signed }, Some(register)) => {
                        Some(cut(self.register(*register)?, *size, *signed))
                    }
                    (Kind::Pointer, Some(register)) => Some(self.register(*register)?.into()),
                    _ => None,
                };
                match value {
                    Some(value) if !matches!(kind, Kind::Enumeration { .. }) => Some(Value::Number(value)),
                    value => self.argument(name, value),
                }
            }
            Source::Integer(place) => {
                let registers = self.registers()?;
                native::arguments(self.session, self.thread.0, &registers).get(*place).copied().and_then(number)
            }
            Source::Register(register) => self.register(*register).and_then(number),
            Source::ThreadPointer => {
                let registers = self.registers()?;
                let (pid, tid) = self.thread;
                Held::new(self.session, pid, tid, &registers).thread_pointer().and_then(number)
            }
            Source::Variable { address, size } => self.load(*address, *size, false).map(Value::Number),
            Source::Address(address) => number(*address),
            Source::Taken(value) => Some(value.clone()),
            Source::Result(kind) => self.result(*kind),
            Source::Later => None,
        }
    }

    fn property(&mut self, property: Property) -> Option<Value> {
        let text = |path: String| {
            let name = std::fs::read(path).ok()?;
            Some(Value::Text(String::from_utf8_lossy(name.strip_suffix(b"\n").unwrap_or(&name)).into_owned()))
        };
        let (pid, tid) = (self.thread.0.0, self.thread.1.0);
        match property {
            Property::ThreadId => Some(Value::Number(tid.into())),
            Property::ProcessId => Some(Value::Number(pid.into())),
            Property::ThreadName => text(format!("/proc/{pid}/task/{tid}/comm")),
            Property::ProcessName => text(format!("/proc/{pid}/comm")),
            Property::Hits => Some(Value::Number(self.count.into())),
            Property::Time => i128::try_from(self.time.as_nanos()).ok().map(Value::Number),
        }
    }

    /// The value of an argument, or of a member of one, that debug information tells. `number` is that of an enumeration.
    fn argument(&mut self, name: &str, number: Option<i128>) -> Option<Value> {
        if self.arguments.is_none() {
            self.arguments = Some(self.arguments()?);
        }
        // What an inner block declares hides what is outside of it.
        let data = self.arguments.iter().flatten().rev().find_map(|argument| argument.member(name));
        of_data(data?, number)
    }

    /// The arguments of the function at its first instruction, or the variables in scope inside of it.
    fn arguments(&mut self) -> Option<Vec<Argument>> {
        let registers = self.session.registers(self.thread.1).ok()?;
        let Arrived { session, space, thread, frame, address, .. } = self;
        if let Some(frame) = frame {
            return Some(Argument::in_frame(session, space, *thread, frame, &registers));
        }
        Some(match scope(space, *address) {
            Some(_) => Argument::locals(session, space, *thread, &registers),
            None => Argument::arguments(session, space, *thread, *address, &registers),
        })
    }

    /// What the function returned.
    fn result(&mut self, kind: Kind) -> Option<Value> {
        let callee = self.returned?;
        let registers = self.registers()?;
        let number = match kind {
            Kind::Integer { size, signed } | Kind::Enumeration { size, signed } => {
                Some(cut(native::return_value(&registers), size, signed))
            }
            Kind::Pointer => Some(native::return_value(&registers).into()),
            _ => None,
        };
        if let (Some(number), false) = (number, matches!(kind, Kind::Enumeration { .. })) {
            return Some(Value::Number(number));
        }
        let Arrived { session, space, thread, .. } = self;
        match Argument::returned(session, space, *thread, callee, &registers)? {
            Argument::Typed(result) => of_data(&result.data, number),
            Argument::Integer { .. } => None,
        }
    }

    fn compared(&mut self, operator: Operator, left: Value, right: Value) -> Option<bool> {
        let (left, right, operator) = match (left, right) {
            (left @ Value::Text(_), right) if !matches!(right, Value::Text(_)) => (right, left, operator),
            both => (both.0, both.1, operator),
        };
        if let Value::Text(wanted) = &right {
            let equal = match (&left, operator) {
                (Value::Text(text) | Value::Named(text, _), Operator::Like) => Glob::new(wanted).matches(text),
                (Value::Text(text) | Value::Named(text, _), _) => text == wanted,
                (Value::Number(address), Operator::Like) => Glob::new(wanted).matches(self.text(*address as u64)?),
                (Value::Number(address), _) => self.is_text(*address as u64, wanted)?,
                (Value::Float(_), _) => return None,
            };
            return Some(equal != (operator == Operator::NotEqual));
        }
        if matches!(left, Value::Float(_)) || matches!(right, Value::Float(_)) {
            return order(operator, left.float()?.partial_cmp(&right.float()?));
        }
        order(operator, Some(left.number()?.cmp(&right.number()?)))
    }

    /// Whether the text at an address, up to its zero byte, is the wanted one.
    fn is_text(&mut self, address: u64, wanted: &str) -> Option<bool> {
        let wanted = [wanted.as_bytes(), &[0]].concat();
        let mut bytes = vec![0; wanted.len()];
        let read = self.session.read_memory(self.thread.0, Address(address), &mut bytes).unwrap_or(0);
        let read = bytes.get(..read)?;
        match wanted.starts_with(read) {
            true if read.len() < wanted.len() => None,
            same => Some(same),
        }
    }

    /// The text at an address, up to its zero byte.
    fn text(&mut self, address: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; LONGEST];
        let read = self.session.read_memory(self.thread.0, Address(address), &mut bytes).ok()?;
        bytes.truncate(read);
        let end = bytes.iter().position(|byte| *byte == 0)?;
        bytes.truncate(end);
        Some(bytes)
    }
}

/// The value that data is to an expression. `number` is that of an enumeration.
fn of_data(data: &Data, number: Option<i128>) -> Option<Value> {
    match data {
        Data::Signed(value) => Some(Value::Number((*value).into())),
        Data::Unsigned(value) => Some(Value::Number((*value).into())),
        Data::Boolean(value) => Some(Value::Number((*value).into())),
        Data::Character(value) => Some(Value::Number(u32::from(*value).into())),
        Data::Single(bits) => Some(Value::Float(f32::from_bits(*bits).into())),
        Data::Double(bits) => Some(Value::Float(f64::from_bits(*bits))),
        Data::Text { text, cut: false } => Some(Value::Text(text.clone())),
        Data::Pointer { address, .. } => Some(Value::Number((*address).into())),
        Data::Name(name) => Some(Value::Named(name.clone(), number)),
        _ => None,
    }
}

fn is_logical(operator: Operator) -> bool {
    operator.compares() || matches!(operator, Operator::And | Operator::Or | Operator::Like)
}

/// The lowest bytes of a number.
fn cut(value: u64, size: u8, signed: bool) -> i128 {
    let unused = 64 - 8 * u32::from(size.clamp(1, 8));
    if signed { i128::from((value << unused) as i64 >> unused) } else { (value << unused >> unused).into() }
}

/// Whether a comparison holds. `None`: one side is no number, which differs from everything.
fn order(operator: Operator, ordering: Option<std::cmp::Ordering>) -> Option<bool> {
    let Some(ordering) = ordering else { return Some(operator == Operator::NotEqual) };
    Some(match operator {
        Operator::Equal => ordering.is_eq(),
        Operator::NotEqual => ordering.is_ne(),
        Operator::Less => ordering.is_lt(),
        Operator::LessOrEqual => ordering.is_le(),
        Operator::Greater => ordering.is_gt(),
        Operator::GreaterOrEqual => ordering.is_ge(),
        _ => return None,
    })
}

/// The result of an operator. Numbers are exact: a result that 128 bits cannot hold, and a division by zero, have no value.
fn combine(operator: Operator, left: Value, right: Value) -> Option<Value> {
    if matches!(left, Value::Float(_)) || matches!(right, Value::Float(_)) {
        let (left, right) = (left.float()?, right.float()?);
        return Some(Value::Float(match operator {
            Operator::Plus => left + right,
            Operator::Minus => left - right,
            Operator::Times => left * right,
            Operator::Over => left / right,
            _ => return None,
        }));
    }
    let (left, right) = (left.number()?, right.number()?);
    let power =
        |count: i128| u32::try_from(count).ok().and_then(|count| 1_i128.checked_shl(count)).filter(|power| *power > 0);
    Some(Value::Number(match operator {
        Operator::BitOr => left | right,
        Operator::BitXor => left ^ right,
        Operator::BitAnd => left & right,
        Operator::Left => left.checked_mul(power(right)?)?,
        Operator::Right => left.checked_shr(u32::try_from(right).ok()?)?,
        Operator::Plus => left.checked_add(right)?,
        Operator::Minus => left.checked_sub(right)?,
        Operator::Times => left.checked_mul(right)?,
        Operator::Over => left.checked_div(right)?,
        Operator::Modulo => left.checked_rem(right)?,
        _ => return None,
    }))
}
