//! Finds what the names of an expression mean, and refuses what does not go together.

use ubp_symbols::ThreadLocal;
use ubp_symbols::values::general_register;

use super::expression::{Expression, Node, Operator, Problem, range};
use super::place::Place;
use super::value::Value;
use crate::native::{self, Reg};
use crate::values::{Kind, Memory};

/// The number of integer arguments.
const ARGUMENTS: usize = 6;

/// Where the value of a name comes from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source {
    /// A property of the thread or the process.
    Property(Property),
    /// An argument of the function, or a member of one, by its name.
    Argument {
        name: String,
        kind: Kind,
        register: Option<Reg>,
    },
    /// One of the first six integer arguments.
    Integer(usize),
    Register(Reg),
    /// The address from which a thread finds its own variables.
    ThreadPointer,
    /// A variable.
    Variable {
        address: u64,
        size: u8,
    },
    /// The address of a variable or function.
    Address(u64),
    /// What the function returns.
    Result(Kind),
    /// The value that it had when a function was entered.
    Taken(Value),
    /// The place is not known yet, or there was no value.
    Later,
}

/// A property of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Property {
    ThreadId,
    ThreadName,
    ProcessId,
    ProcessName,
    Hits,
    Time,
}

/// The name of what a function returns.
const RESULT: &str = "retval";

/// The names of properties.
const PROPERTIES: [(&str, Property); 6] = [
    ("thread.id", Property::ThreadId),
    ("thread.name", Property::ThreadName),
    ("process.id", Property::ProcessId),
    ("process.name", Property::ProcessName),
    ("hits", Property::Hits),
    ("time", Property::Time),
];

/// What a part of an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    /// The result of a comparison.
    Truth,
    /// A number with its bytes.
    Integer {
        size: u8,
        signed: bool,
    },
    /// A number of any size.
    Exact,
    Float,
    Time,
    Text,
    Pointer,
    Enumeration {
        size: u8,
        signed: bool,
    },
    /// The value is not known before a location is.
    Later,
}

impl Type {
    fn name(self) -> String {
        match self {
            Type::Truth => "the result of a comparison".into(),
            Type::Integer { size: 1, .. } => "a number of 1 byte".into(),
            Type::Integer { size, .. } => format!("a number of {size} bytes"),
            Type::Exact => "a number".into(),
            Type::Float => "a number with a fraction".into(),
            Type::Time => "a time".into(),
            Type::Text => "a text".into(),
            Type::Pointer => "a pointer".into(),
            Type::Enumeration { .. } => "an enumeration".into(),
            Type::Later => "an argument".into(),
        }
    }

    /// The least and the largest value.
    fn range(self) -> Option<(i128, i128)> {
        let (size, signed) = match self {
            Type::Integer { size, signed } | Type::Enumeration { size, signed } => (size, signed),
            Type::Pointer => (8, false),
            _ => return None,
        };
        Some(range(size, signed))
    }

    /// Whether a value may be the address of a text.
    fn may_lead_to_text(self) -> bool {
        matches!(self, Type::Pointer | Type::Later | Type::Exact | Type::Integer { size: 8, signed: false })
    }
}

type Bound = Expression<Source>;

/// Finds the meaning of all names at a place; without one, what can be known before the program starts is checked.
pub(super) fn bind(root: &Expression<String>, place: Option<&Place<'_>>) -> Result<Bound, Problem> {
    let (bound, kind) = part(root, place)?;
    truth(&bound, kind)?;
    Ok(bound)
}

/// Finds the meaning of all names of an expression whose value is asked for.
pub(super) fn meaning(root: &Expression<String>, place: Option<&Place<'_>>) -> Result<Bound, Problem> {
    part(root, place).map(|(bound, _)| bound)
}

/// Refuses an operand of `!`, `&&` or `||` that has no truth value: a text or a time.
fn truth(bound: &Bound, kind: Type) -> Result<(), Problem> {
    match kind {
        Type::Text | Type::Time => {
            let what = format!("this is {}, which is neither true nor false; compare it with ==", kind.name());
            Err(Problem::new(bound.at, what))
        }
        _ => Ok(()),
    }
}

fn part(expression: &Expression<String>, place: Option<&Place<'_>>) -> Result<(Bound, Type), Problem> {
    let at = expression.at;
    let bound = |node, kind| Ok((Expression::new(at, node), kind));
    match &expression.node {
        Node::Number(value) => bound(Node::Number(*value), Type::Exact),
        Node::Time(value) => bound(Node::Time(*value), Type::Time),
        Node::Text(text) => bound(Node::Text(text.clone()), Type::Text),
        Node::Name(name) => {
            if let (Some((first, path)), Some(place)) = (name.split_once("->"), place) {
                return behind(first, path, at, place);
            }
            value_of(name, at, place)
        }
        Node::Address(name) => {
            let own = place.filter(|place| place.symbol(name).is_none()).and_then(|place| place.thread_local(name));
            if let Some((place, _)) = own.transpose().map_err(|what| Problem::new(at, what))? {
                return Ok((in_storage(place, at), Type::Pointer));
            }
            let address = match place {
                None => Source::Later,
                Some(place) => Source::Address(place.symbol(name).map(|(address, _)| address).ok_or_else(|| {
                    Problem::new(at, format!("no file of the program has a variable or function '{name}'"))
                })?),
            };
            bound(Node::Address(address), Type::Pointer)
        }
        Node::Load { size, signed, address } => {
            let address = Box::new(number(address, place)?);
            bound(Node::Load { size: *size, signed: *signed, address }, Type::Integer { size: *size, signed: *signed })
        }
        Node::Cast { size, signed, inner } => {
            let inner = Box::new(number(inner, place)?);
            bound(Node::Cast { size: *size, signed: *signed, inner }, Type::Integer { size: *size, signed: *signed })
        }
        Node::Not(inner) => {
            let (inner, kind) = part(inner, place)?;
            truth(&inner, kind)?;
            bound(Node::Not(Box::new(inner)), Type::Truth)
        }
        Node::Negative(inner) => {
            let (inner, kind) = part(inner, place)?;
            let kind = if kind == Type::Float { kind } else { is_number(&inner, kind).map(|()| Type::Exact)? };
            bound(Node::Negative(Box::new(inner)), kind)
        }
        Node::Inverse(inner) => bound(Node::Inverse(Box::new(number(inner, place)?)), Type::Exact),
        Node::Two(operator, left, right) => {
            let (left, right) = (part(left, place)?, part(right, place)?);
            let kind = sides(*operator, at, &left, &right)?;
            bound(Node::Two(*operator, Box::new(left.0), Box::new(right.0)), kind)
        }
    }
}

/// The value that a name means.
fn value_of(name: &str, at: usize, place: Option<&Place<'_>>) -> Result<(Bound, Type), Problem> {
    if let Some(variable) = place.and_then(|place| in_memory(name, at, place)) {
        return Ok(variable);
    }
    if let Some((place, size)) =
        place.and_then(|place| of_thread(name, place)).transpose().map_err(|what| Problem::new(at, what))?
    {
        let size = whole(name, size, at)?;
        let address = Box::new(in_storage(place, at));
        return Ok((
            Expression::new(at, Node::Load { size, signed: false, address }),
            Type::Integer { size, signed: false },
        ));
    }
    let (source, kind) = named(name, at, place)?;
    Ok((Expression::new(at, Node::Name(source)), kind))
}

/// A number or a pointer that is a variable in memory, or a member of one, as a load: so the program or the kernel can compare it.
fn in_memory(name: &str, at: usize, place: &Place<'_>) -> Option<(Bound, Type)> {
    let (kind, memory) = place.memory(name).filter(|_| !PROPERTIES.iter().any(|(known, _)| *known == name))?;
    let (size, signed, kind) = match kind {
        Kind::Integer { size, signed } => (size, signed, Type::Integer { size, signed }),
        Kind::Pointer => (place.width(), false, Type::Pointer),
        _ => return None,
    };
    let part = |node| Box::new(Expression::new(at, node));
    let address = match memory {
        Memory::At(address) => part(Node::Address(Source::Address(address))),
        Memory::Frame(register, offset) => {
            let register = part(Node::Name(Source::Register(general_register(register)?)));
            part(Node::Two(Operator::Plus, register, part(Node::Number(offset.into()))))
        }
    };
    Some((Expression::new(at, Node::Load { size, signed, address }), kind))
}

/// Where a variable lies of which each thread has its own, unless the name means something else.
fn of_thread(name: &str, place: &Place<'_>) -> Option<Result<(ThreadLocal, u64), String>> {
    let is_else = PROPERTIES.iter().any(|(known, _)| *known == name)
        || name == RESULT
        || place.argument(name).is_some()
        || native::register(name).is_some()
        || place.symbol(name).is_some();
    if is_else { None } else { place.thread_local(name) }
}

/// The address of a thread's own variable.
fn in_storage(place: ThreadLocal, at: usize) -> Bound {
    let part = |node| Expression::new(at, node);
    let plus = |left, right| part(Node::Two(Operator::Plus, Box::new(left), Box::new(right)));
    let offset = match place {
        ThreadLocal::Slot { slot, behind } => {
            let address = Box::new(part(Node::Address(Source::Address(slot))));
            plus(part(Node::Load { size: 8, signed: true, address }), part(Node::Number(behind.into())))
        }
        ThreadLocal::Offset(offset) => part(Node::Number(offset.into())),
        _ => part(Node::Number(0)),
    };
    plus(part(Node::Name(Source::ThreadPointer)), offset)
}

/// The size of a variable whose value is one number.
fn whole(name: &str, size: u64, at: usize) -> Result<u8, Problem> {
    match size {
        1 | 2 | 4 | 8 => Ok(size as u8),
        _ => Err(Problem::new(at, format!("'{name}' has {size} bytes; write *(u32*)&{name} for a part of it"))),
    }
}

/// A value behind a pointer argument (`item->count`), as loads from memory.
fn behind(first: &str, path: &str, at: usize, place: &Place<'_>) -> Result<(Bound, Type), Problem> {
    let reached = place.reached(first, path).map_err(|what| Problem::new(at, what))?;
    let width = place.width();
    let (size, signed, kind) = match reached.kind {
        Kind::Integer { size, signed } => (size, signed, Type::Integer { size, signed }),
        _ => (width, false, Type::Pointer),
    };
    let mut bound = value_of(first, at, Some(place))?.0;
    for (step, offset) in reached.offsets.iter().enumerate() {
        let is_last = step + 1 == reached.offsets.len();
        let (size, signed) = if is_last { (size, signed) } else { (width, false) };
        let offset = Expression::new(at, Node::Number((*offset).into()));
        let address = Expression::new(at, Node::Two(Operator::Plus, Box::new(bound), Box::new(offset)));
        bound = Expression::new(at, Node::Load { size, signed, address: Box::new(address) });
    }
    Ok((bound, kind))
}

/// A part that has to be a number without fraction.
fn number(expression: &Expression<String>, place: Option<&Place<'_>>) -> Result<Bound, Problem> {
    let (bound, kind) = part(expression, place)?;
    is_number(&bound, kind)?;
    Ok(bound)
}

fn is_number(bound: &Bound, kind: Type) -> Result<(), Problem> {
    match kind {
        Type::Integer { .. } | Type::Exact | Type::Pointer | Type::Enumeration { .. } | Type::Later => Ok(()),
        Type::Truth => {
            let what = "this is the result of a comparison, where a number is needed; put parentheses around the other \
                        operator: (flags & 4) == 4";
            Err(Problem::new(bound.at, what))
        }
        other => Err(Problem::new(bound.at, format!("this is {}, where a number is needed", other.name()))),
    }
}

/// The type of an operator's result.
fn sides(operator: Operator, at: usize, left: &(Bound, Type), right: &(Bound, Type)) -> Result<Type, Problem> {
    let wrong = |what: String| Err(Problem::new(at, what));
    let kinds = (left.1, right.1);
    match operator {
        Operator::And | Operator::Or => {
            truth(&left.0, left.1)?;
            truth(&right.0, right.1)?;
            Ok(Type::Truth)
        }
        Operator::Like => {
            if !matches!(right.0.node, Node::Text(_)) {
                return Err(Problem::new(right.0.at, "a pattern in quotes is needed after =~, such as \"/etc/*\""));
            }
            if left.1 != Type::Text && !matches!(left.1, Type::Enumeration { .. }) && !left.1.may_lead_to_text() {
                return Err(Problem::new(left.0.at, format!("this is {}, where a text is needed", left.1.name())));
            }
            Ok(Type::Truth)
        }
        _ if operator.compares() => {
            match kinds {
                (Type::Text, Type::Text) if !operator.orders() => {}
                (Type::Text, other) | (other, Type::Text) if other != Type::Text && !operator.orders() => {
                    let is_name = matches!(other, Type::Enumeration { .. });
                    if left.0.constant().or(right.0.constant()).is_some() {
                        return wrong("a number is compared with a text; put text between \"".into());
                    }
                    if !is_name && !other.may_lead_to_text() {
                        return wrong(format!("{} is compared with a text; compare it with a number", other.name()));
                    }
                }
                (Type::Text, _) | (_, Type::Text) => return wrong("texts are compared by ==, != and =~ alone".into()),
                (Type::Time, Type::Time) => {}
                (Type::Time, _) | (_, Type::Time) => {
                    return wrong(
                        "a time is compared with a number; write a time with its unit, such as 2s or 10ms".into(),
                    );
                }
                _ => {}
            }
            in_range(&left.0, left.1, &right.0)?;
            in_range(&right.0, right.1, &left.0)?;
            Ok(Type::Truth)
        }
        _ => {
            let floats = matches!(operator, Operator::Plus | Operator::Minus | Operator::Times | Operator::Over);
            for (bound, kind) in [left, right] {
                if !(floats && *kind == Type::Float) {
                    is_number(bound, *kind)?;
                }
            }
            Ok(if kinds.0 == Type::Float || kinds.1 == Type::Float { Type::Float } else { Type::Exact })
        }
    }
}

/// Refuses a comparison with a constant that the other side can never have.
fn in_range(side: &Bound, kind: Type, other: &Bound) -> Result<(), Problem> {
    let (Some((least, most)), Some(value)) = (kind.range(), other.constant()) else { return Ok(()) };
    if (least..=most).contains(&value) || side.constant().is_some() {
        return Ok(());
    }
    let hint = if value < 0 { "; write (i64)VALUE or (i32)VALUE for a signed number" } else { "" };
    let what = format!("{} from {least} to {most} is compared with {value}{hint}", kind.name());
    Err(Problem::new(other.at, what))
}

/// The meaning of a name: a property, an argument, a register, or a variable, the first that there is.
fn named(name: &str, at: usize, place: Option<&Place<'_>>) -> Result<(Source, Type), Problem> {
    if let Some((_, property)) = PROPERTIES.iter().find(|(known, _)| *known == name) {
        let kind = match property {
            Property::ThreadName | Property::ProcessName => Type::Text,
            Property::Time => Type::Time,
            Property::ThreadId | Property::ProcessId => Type::Integer { size: 4, signed: true },
            Property::Hits => Type::Integer { size: 8, signed: true },
        };
        return Ok((Source::Property(*property), kind));
    }
    if name.starts_with("thread.") || name.starts_with("process.") {
        let known = PROPERTIES.map(|(known, _)| known).join(", ");
        return Err(Problem::new(at, format!("there is no '{name}'; there are {known}")));
    }
    let Some(place) = place else { return Ok((Source::Later, Type::Later)) };
    if name == RESULT {
        let kind = place.result().map_err(|what| Problem::new(at, what))?;
        return Ok((Source::Result(kind), of(kind).unwrap_or(Type::Later)));
    }
    let width = place.width();
    if let Some((kind, register)) = place.argument(name) {
        return match of(kind) {
            Some(of) => Ok((Source::Argument { name: name.into(), kind, register }, of)),
            None => Err(Problem::new(at, format!("'{name}' is no number and no text{}", place.members(name)))),
        };
    }
    let number = name.strip_prefix("arg").and_then(|digits| digits.parse().ok()).filter(|place| *place < ARGUMENTS);
    if let Some(number) = number {
        return Ok((Source::Integer(number), Type::Integer { size: width, signed: false }));
    }
    if let Some(register) = native::register(name) {
        return Ok((Source::Register(register), Type::Integer { size: width, signed: false }));
    }
    match place.symbol(name) {
        Some((address, size)) => {
            let size = whole(name, size, at)?;
            Ok((Source::Variable { address, size }, Type::Integer { size, signed: false }))
        }
        None => Err(Problem::new(at, place.unknown(name))),
    }
}

/// The type of a value; `None` if it is no single one.
fn of(kind: Kind) -> Option<Type> {
    match kind {
        Kind::Integer { size, signed } => Some(Type::Integer { size, signed }),
        Kind::Float => Some(Type::Float),
        Kind::Text => Some(Type::Text),
        Kind::Pointer => Some(Type::Pointer),
        Kind::Enumeration { size, signed } => Some(Type::Enumeration { size, signed }),
        Kind::Other => None,
    }
}

/// The place in the text where an expression asks for the result of a function, if it does.
pub(super) fn result_at(expression: &Expression<String>) -> Option<usize> {
    let here = matches!(&expression.node, Node::Name(name) if name == RESULT).then_some(expression.at);
    here.or_else(|| expression.parts().into_iter().find_map(result_at))
}

/// Whether a part of an expression asks for the result of a function.
pub(super) fn asks_for_result(expression: &Bound) -> bool {
    matches!(expression.node, Node::Name(Source::Result(_))) || expression.parts().into_iter().any(asks_for_result)
}

/// Whether a part of an expression asks for a property.
pub(super) fn asks_for(expression: &Bound, property: Property) -> bool {
    expression.node == Node::Name(Source::Property(property))
        || expression.parts().into_iter().any(|part| asks_for(part, property))
}

#[cfg(test)]
mod tests {
    use super::super::parser::parse;
    use super::*;

    #[test]
    fn what_does_not_go_together_is_refused_at_its_place() {
        for (text, at) in [
            ("time > 4096", 5),
            ("thread.name == 3", 12),
            ("thread.id == \"b\"", 10),
            ("thread.name < \"b\"", 12),
            ("size + \"a\" == 3", 7),
            ("thread.nam == \"x\"", 0),
            ("size > 2s", 5),
            ("size > 1 && \"text\"", 12),
            ("path =~ other", 8),
            ("time =~ \"x*\"", 0),
            ("\"text\"", 0),
            ("flags & 4 == 4", 10),
            ("*(u8*)rdi == 256", 13),
            ("*(u8*)rdi == -1", 13),
            ("(a == 1) + 1 == 2", 3),
        ] {
            assert_eq!(bind(&parse(text).unwrap(), None).unwrap_err().at, at, "{text}");
        }
        for text in ["size > 4096 && thread.name == \"worker\"", "path =~ \"/etc/*\"", "time > 2s || hits == 3", "flag"]
        {
            assert!(bind(&parse(text).unwrap(), None).is_ok(), "{text}");
        }
    }
}
