//! The text of a log point: `x is {x}`.

/// A part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    /// An expression between braces.
    Expression(String),
}

/// Splits the text of a log point. A brace behind a backslash is a brace.
///
/// # Errors
/// A brace is not closed, or there is nothing between two.
pub(super) fn parse(text: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '\\' => match rest.clone().next() {
                Some(brace @ ('{' | '}' | '\\')) => {
                    plain.push(brace);
                    rest.next();
                }
                _ => plain.push('\\'),
            },
            '{' => {
                let Some((expression, behind)) = rest.as_str().split_once('}') else {
                    return Err(format!("the brace before '{}' is not closed; write \\{{ for a brace", rest.as_str()));
                };
                if expression.trim().is_empty() {
                    return Err("there is no expression between { and }".into());
                }
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(Part::Expression(expression.trim().into()));
                rest = behind.chars();
            }
            other => plain.push(other),
        }
    }
    if !plain.is_empty() {
        parts.push(Part::Text(plain));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_stand_between_braces() {
        let text = |text: &str| Part::Text(text.into());
        let expression = |text: &str| Part::Expression(text.into());
        assert_eq!(
            parse("x is { x }, y {p->y}!").unwrap(),
            [text("x is "), expression("x"), text(", y "), expression("p->y"), text("!")]
        );
        assert_eq!(parse(r"\{x\} \a").unwrap(), [text(r"{x} \a")]);
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn a_brace_that_is_not_closed_is_an_error() {
        assert!(parse("x is {x").unwrap_err().contains("not closed"));
        assert!(parse("x is { }").unwrap_err().contains("no expression"));
    }
}
