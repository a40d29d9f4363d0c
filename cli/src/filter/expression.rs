//! An expression, and what can be wrong with it.

use std::fmt;

/// The types of numbers in memory: name, bytes, and whether the number is signed.
pub(super) const TYPES: [(&str, u8, bool); 8] = [
    ("u8", 1, false),
    ("u16", 2, false),
    ("u32", 4, false),
    ("u64", 8, false),
    ("i8", 1, true),
    ("i16", 2, true),
    ("i32", 4, true),
    ("i64", 8, true),
];

/// The least and the largest value of a number.
pub(super) fn range(size: u8, signed: bool) -> (i128, i128) {
    let bits = 8 * u32::from(size.clamp(1, 8));
    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// A part of an expression and its place in the text. `N` is what a name is: a text, or where its value comes from.
#[derive(Clone, Debug)]
pub(super) struct Expression<N> {
    /// The number of characters before it.
    pub(super) at: usize,
    pub(super) node: Node<N>,
}

/// What a part of an expression is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node<N> {
    Number(i128),
    /// A time in nanoseconds.
    Time(i128),
    Text(String),
    Name(N),
    /// The address of a variable or function.
    Address(N),
    /// A number in memory.
    Load {
        size: u8,
        signed: bool,
        address: Box<Expression<N>>,
    },
    /// The lowest bytes of a number.
    Cast {
        size: u8,
        signed: bool,
        inner: Box<Expression<N>>,
    },
    Not(Box<Expression<N>>),
    Negative(Box<Expression<N>>),
    Inverse(Box<Expression<N>>),
    Two(Operator, Box<Expression<N>>, Box<Expression<N>>),
}

/// An operator with two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Like,
    BitOr,
    BitXor,
    BitAnd,
    Left,
    Right,
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
}

/// The operators with their signs and binding powers, those of C.
pub(super) const OPERATORS: [(&str, Operator, u8); 19] = [
    ("||", Operator::Or, 1),
    ("&&", Operator::And, 2),
    ("|", Operator::BitOr, 3),
    ("^", Operator::BitXor, 4),
    ("&", Operator::BitAnd, 5),
    ("==", Operator::Equal, 6),
    ("!=", Operator::NotEqual, 6),
    ("=~", Operator::Like, 6),
    ("<=", Operator::LessOrEqual, 7),
    (">=", Operator::GreaterOrEqual, 7),
    ("<", Operator::Less, 7),
    (">", Operator::Greater, 7),
    ("<<", Operator::Left, 8),
    (">>", Operator::Right, 8),
    ("+", Operator::Plus, 9),
    ("-", Operator::Minus, 9),
    ("*", Operator::Times, 10),
    ("/", Operator::Over, 10),
    ("%", Operator::Modulo, 10),
];

impl Operator {
    pub(super) fn compares(self) -> bool {
        self.orders() || matches!(self, Operator::Equal | Operator::NotEqual)
    }

    /// Whether it asks which side is larger.
    pub(super) fn orders(self) -> bool {
        use Operator::{Greater, GreaterOrEqual, Less, LessOrEqual};
        matches!(self, Less | LessOrEqual | Greater | GreaterOrEqual)
    }

    pub(super) fn sign(self) -> &'static str {
        OPERATORS.iter().find(|(_, operator, _)| *operator == self).map_or("", |(sign, ..)| sign)
    }
}

/// Expressions are equal wherever their parts stand in the text.
impl<N: PartialEq> PartialEq for Expression<N> {
    fn eq(&self, other: &Expression<N>) -> bool {
        self.node == other.node
    }
}

impl<N> Expression<N> {
    pub(super) fn new(at: usize, node: Node<N>) -> Expression<N> {
        Expression { at, node }
    }

    /// The parts directly below.
    pub(super) fn parts(&self) -> Vec<&Expression<N>> {
        match &self.node {
            Node::Load { address: inner, .. }
            | Node::Cast { inner, .. }
            | Node::Not(inner)
            | Node::Negative(inner)
            | Node::Inverse(inner) => vec![inner],
            Node::Two(_, left, right) => vec![left, right],
            _ => Vec::new(),
        }
    }

    /// The value, if it is known before the program starts.
    pub(super) fn constant(&self) -> Option<i128> {
        match &self.node {
            Node::Number(value) => Some(*value),
            Node::Negative(inner) => inner.constant()?.checked_neg(),
            Node::Inverse(inner) => inner.constant().map(|value| !value),
            _ => None,
        }
    }
}

/// Every operator with two sides stands in parentheses.
impl fmt::Display for Expression<String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |size: u8, signed: bool| {
            TYPES.iter().find(|(_, known, sign)| (*known, *sign) == (size, signed)).map_or("", |(name, ..)| name)
        };
        match &self.node {
            Node::Number(value) => write!(f, "{value}"),
            Node::Time(value) => write!(f, "{value}ns"),
            Node::Text(text) => {
                f.write_str("\"")?;
                for character in text.chars() {
                    match character {
                        '\n' => f.write_str("\\n")?,
                        '\t' => f.write_str("\\t")?,
                        '\0' => f.write_str("\\0")?,
                        '"' | '\\' => write!(f, "\\{character}")?,
                        other => write!(f, "{other}")?,
                    }
                }
                f.write_str("\"")
            }
            Node::Name(name) => f.write_str(name),
            Node::Address(name) => write!(f, "&{name}"),
            Node::Load { size, signed, address } => write!(f, "*({}*){address}", kind(*size, *signed)),
            Node::Cast { size, signed, inner } => write!(f, "({}){inner}", kind(*size, *signed)),
            Node::Not(inner) => write!(f, "!{inner}"),
            Node::Negative(inner) => write!(f, "-{inner}"),
            Node::Inverse(inner) => write!(f, "~{inner}"),
            Node::Two(operator, left, right) => write!(f, "({left} {} {right})", operator.sign()),
        }
    }
}

/// Why an expression makes no sense, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The number of characters before the place.
    pub(crate) at: usize,
    what: String,
}

impl Problem {
    pub(crate) fn new(at: usize, what: impl Into<String>) -> Problem {
        Problem { at, what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}
