//! Splits the text of an expression.

use super::expression::Problem;

/// A part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Number(i128),
    /// A time in nanoseconds.
    Time(i128),
    Text(String),
    Name(String),
    Sign(&'static str),
    End,
}

/// The signs, longer ones first.
const SIGNS: [&str; 24] = [
    "&&", "||", "==", "!=", "<=", ">=", "=~", "<<", ">>", "<", ">", "!", "~", "&", "|", "^", "+", "-", "*", "/", "%",
    "(", ")", ",",
];
/// The units of times in nanoseconds.
const UNITS: [(&str, i128); 6] = [
    ("ns", 1),
    ("us", 1000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The tokens with the number of characters before each. The last one is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Problem> {
    let characters: Vec<char> = text.chars().collect();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(&character) = characters.get(at) {
        if character.is_whitespace() {
            at += 1;
            continue;
        }
        let rest = characters.get(at..).unwrap_or_default();
        let (token, length) = match character {
            '"' | '\'' => quoted(rest, at)?,
            '0'..='9' => number(rest, at)?,
            _ if is_of_name(character) => {
                let length = name(rest);
                (Token::Name(rest.iter().take(length).collect()), length)
            }
            _ => sign(rest, at)?,
        };
        tokens.push((at, token));
        at += length;
    }
    tokens.push((characters.len(), Token::End));
    Ok(tokens)
}

fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

/// The number of characters of a name, with members behind `.` and `->`.
fn name(rest: &[char]) -> usize {
    let mut length = 0;
    loop {
        length += match rest.get(length..) {
            Some([c, ..]) if is_of_name(*c) || matches!(c, '.' | ':') => 1,
            Some(['-', '>', c, ..]) if is_of_name(*c) => 3,
            _ => return length,
        };
    }
}

fn sign(rest: &[char], at: usize) -> Result<(Token, usize), Problem> {
    let starts = |sign: &&&str| sign.chars().zip(rest).all(|(a, b)| a == *b) && sign.len() <= rest.len();
    match SIGNS.iter().find(starts) {
        Some(sign) => Ok((Token::Sign(sign), sign.len())),
        None => Err(Problem::new(at, "this character has no meaning here; put text between \"")),
    }
}

fn quoted(rest: &[char], at: usize) -> Result<(Token, usize), Problem> {
    let quote = rest.first().copied().unwrap_or('"');
    let (mut text, mut length) = (String::new(), 1);
    loop {
        match rest.get(length) {
            None => return Err(Problem::new(at, format!("the text has no closing {quote}"))),
            Some(&c) if c == quote => break,
            Some('\\') => {
                let next = rest.get(length + 1).copied().unwrap_or('\\');
                text.push(match next {
                    'n' => '\n',
                    't' => '\t',
                    '0' => '\0',
                    other => other,
                });
                length += 2;
            }
            Some(&c) => {
                text.push(c);
                length += 1;
            }
        }
    }
    let mut characters = text.chars();
    match (quote, characters.next(), characters.next()) {
        ('"', ..) => Ok((Token::Text(text), length + 1)),
        (_, Some(character), None) => Ok((Token::Number(u32::from(character).into()), length + 1)),
        _ => Err(Problem::new(at, "quotes ' enclose one character; text stands between \"")),
    }
}

fn number(rest: &[char], at: usize) -> Result<(Token, usize), Problem> {
    let length = rest.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').count();
    let text: String = rest.iter().take(length).filter(|c| **c != '_').collect();
    let wrong = || Problem::new(at, format!("'{text}' is no number; write 10, 0x1f, or a time such as 2s, 10ms, 5min"));
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).map(|n| (Token::Number(n.into()), length)).map_err(|_| wrong());
    }
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let (digits, unit) = text.split_at(digits);
    let value: u64 = digits.parse().map_err(|_| wrong())?;
    if unit.is_empty() {
        return Ok((Token::Number(value.into()), length));
    }
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    let time = i128::from(value) * factor;
    if u64::try_from(time).is_err() {
        return Err(Problem::new(at, format!("'{text}' is longer than ntrace can run")));
    }
    Ok((Token::Time(time), length))
}
