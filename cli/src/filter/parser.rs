//! Parses an expression by the binding powers of its operators (Pratt, "Top Down Operator Precedence", 1973).

use super::expression::{Expression, Node, OPERATORS, Problem, TYPES};
use super::lexer::{Token, tokens};

/// The deepest nesting of an expression.
const DEEPEST: usize = 64;
/// The largest number of tokens. Each may be a level of the expression.
const MOST_TOKENS: usize = 500;
/// How memory is written.
const MEMORY: &str = "memory is written *(TYPE*)ADDRESS, with u8, u16, u32, u64, i8, i16, i32 or i64 for TYPE";

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
}

pub(super) fn parse(text: &str) -> Result<Expression<String>, Problem> {
    let tokens = tokens(text)?;
    if let Some((at, _)) = tokens.get(MOST_TOKENS) {
        return Err(Problem::new(*at, format!("the expression has more than {MOST_TOKENS} words and signs")));
    }
    let mut parser = Parser { tokens, next: 0 };
    let expression = parser.expression(0, 0)?;
    match parser.peek() {
        (_, Token::End) => Ok(expression),
        (at, Token::Sign(")")) => Err(Problem::new(*at, "no '(' stands before this")),
        (at, _) => Err(Problem::new(*at, "an operator is missing before this, such as && or ==")),
    }
}

/// The size and the sign of a type.
fn kind(token: &Token) -> Option<(u8, bool)> {
    let Token::Name(name) = token else { return None };
    TYPES.iter().find(|(known, ..)| known == name).map(|(_, size, signed)| (*size, *signed))
}

impl Parser {
    fn peek(&self) -> &(usize, Token) {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> &(usize, Token) {
        // The end is the last token.
        self.tokens.get(self.next + count).or(self.tokens.last()).unwrap_or(&(0, Token::End))
    }

    fn take(&mut self) -> (usize, Token) {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn take_sign(&mut self, wanted: &'static str) -> Result<(), Problem> {
        match self.take() {
            (_, Token::Sign(sign)) if sign == wanted => Ok(()),
            (at, _) => Err(Problem::new(at, format!("'{wanted}' is missing here"))),
        }
    }

    fn expression(&mut self, least: u8, depth: usize) -> Result<Expression<String>, Problem> {
        let mut left = self.operand(depth)?;
        while let (at, Token::Sign(sign)) = *self.peek() {
            let Some((_, operator, power)) = OPERATORS.iter().find(|(text, _, power)| *text == sign && *power > least)
            else {
                break;
            };
            self.take();
            let right = self.expression(*power, depth + 1)?;
            left = Expression::new(at, Node::Two(*operator, Box::new(left), Box::new(right)));
        }
        Ok(left)
    }

    fn operand(&mut self, depth: usize) -> Result<Expression<String>, Problem> {
        let (at, token) = self.take();
        if depth > DEEPEST {
            return Err(Problem::new(at, format!("the expression is nested deeper than {DEEPEST} times")));
        }
        if kind(&token).is_some() {
            return Err(Problem::new(at, "this is a type; write (TYPE)VALUE, or *(TYPE*)ADDRESS for memory"));
        }
        let node = match token {
            Token::Number(value) => Node::Number(value),
            Token::Time(value) => Node::Time(value),
            Token::Text(text) => Node::Text(text),
            Token::Name(name) => Node::Name(name),
            Token::Sign("(") => {
                if let Some((size, signed)) = kind(&self.peek().1) {
                    self.take();
                    self.take_sign(")")?;
                    let inner = Box::new(self.operand(depth + 1)?);
                    return Ok(Expression::new(at, Node::Cast { size, signed, inner }));
                }
                let inner = self.expression(0, depth + 1)?;
                self.take_sign(")")?;
                return Ok(inner);
            }
            Token::Sign("!") => Node::Not(Box::new(self.operand(depth + 1)?)),
            Token::Sign("-") => Node::Negative(Box::new(self.operand(depth + 1)?)),
            Token::Sign("~") => Node::Inverse(Box::new(self.operand(depth + 1)?)),
            Token::Sign("&") => match self.take() {
                (_, Token::Name(name)) => Node::Address(name),
                (at, _) => return Err(Problem::new(at, "the name of a variable is missing after &")),
            },
            Token::Sign("*") => return self.load(at, depth),
            Token::End => return Err(Problem::new(at, "a value is missing here")),
            Token::Sign(_) => return Err(Problem::new(at, "a value is missing before this")),
        };
        Ok(Expression::new(at, node))
    }

    /// What follows the star of `*(u32*)address`.
    fn load(&mut self, at: usize, depth: usize) -> Result<Expression<String>, Problem> {
        if self.take().1 != Token::Sign("(") {
            return Err(Problem::new(at, MEMORY));
        }
        let (place, token) = self.take();
        let (size, signed) = kind(&token).ok_or_else(|| Problem::new(place, MEMORY))?;
        self.take_sign("*")?;
        self.take_sign(")")?;
        let address = Box::new(self.operand(depth + 1)?);
        Ok(Expression::new(at, Node::Load { size, signed, address }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_bind_as_in_c() {
        for (text, shape) in [
            ("a || b && c == 1 + 2 * 3", "(a || (b && (c == (1 + (2 * 3)))))"),
            ("a - b - c", "((a - b) - c)"),
            ("(a | 1) & 0x10", "((a | 1) & 16)"),
            ("!a.b && time > 2s", "(!a.b && (time > 2000000000ns))"),
            ("*(i32*)(rdi+8) == -1", "(*(i32*)(rdi + 8) == -1)"),
            ("*(u8*)&flag == 'a'", "(*(u8*)&flag == 97)"),
            ("item->place.x - 1 == a->b->c", "((item->place.x - 1) == a->b->c)"),
            ("a>-1", "(a > -1)"),
            ("(u32)arg0 >> 2 == ns::x", "(((u32)arg0 >> 2) == ns::x)"),
        ] {
            assert_eq!(parse(text).unwrap().to_string(), shape);
        }
    }

    #[test]
    fn a_problem_names_its_place() {
        for (text, at) in [
            ("a >", 3),
            ("a b", 2),
            ("a == \"x", 5),
            ("*(u7*)a", 2),
            ("*a", 0),
            ("(a", 2),
            ("a)", 1),
            ("a == 2x", 5),
            ("a # b", 2),
            ("u32 == 3", 0),
            ("&3", 1),
            ("", 0),
            ("time > 9999999999h", 7),
        ] {
            assert_eq!(parse(text).unwrap_err().at, at, "{text}");
        }
        assert!(parse(&"(".repeat(1000)).is_err() && parse(&"!".repeat(100_000)).is_err());
        assert!(parse(&"!".repeat(400)).unwrap_err().to_string().contains("deeper"));
    }

    /// Numbers without a pattern that a test can repeat (xorshift; Marsaglia 2003).
    fn random(state: &mut u64) -> usize {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 16) as usize
    }

    #[test]
    fn no_text_makes_the_parser_panic_and_what_is_printed_means_the_same() {
        const WORDS: [&str; 41] = [
            "a",
            "rdi",
            "p.x",
            "ns::v",
            "->x",
            "0",
            "17",
            "0xff",
            "2s",
            "3ms",
            "\"t\\\\\\\"\\n\"",
            "'c'",
            "(",
            ")",
            "!",
            "-",
            "~",
            "&",
            "*",
            "(u32)",
            "*(i16*)",
            "&&",
            "||",
            "==",
            "!=",
            "<",
            "<=",
            ">",
            ">=",
            "=~",
            "<<",
            ">>",
            "+",
            "/",
            "%",
            "|",
            "^",
            "é",
            "\\",
            "\u{0}",
            " ",
        ];
        let (mut state, mut parsed) = (0x9e37_79b9_7f4a_7c15, 0);
        for round in 0..60_000 {
            let length = 1 + random(&mut state) % 12;
            let text: String = if round % 4 == 0 {
                let bytes: Vec<u8> = (0..length * 4).map(|_| random(&mut state) as u8).collect();
                String::from_utf8_lossy(&bytes).into_owned()
            } else {
                (0..length).map(|_| WORDS[random(&mut state) % WORDS.len()]).collect()
            };
            match parse(&text) {
                Ok(expression) => {
                    parsed += 1;
                    let printed = expression.to_string();
                    let again = parse(&printed).unwrap_or_else(|problem| panic!("{text:?} {printed:?}: {problem}"));
                    assert_eq!(again, expression, "{text:?} {printed:?}");
                }
                Err(problem) => assert!(problem.at <= text.chars().count(), "{text:?}"),
            }
        }
        assert!(parsed > 1000, "{parsed}");
    }
}
