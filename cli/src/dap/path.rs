//! Names of variables and of their parts: `item->at.x`, `numbers[2]`, `*pointer`.

use std::fmt;

use ubp_symbols::values::Node;

/// A step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A member, of the value or of what it leads to.
    Member(String),
    Element(u64),
    /// What a pointer leads to.
    Target,
}

/// The name of a variable and the steps from it; `None`: the text is something else.
pub(super) fn parse(text: &str) -> Option<(String, Vec<Step>)> {
    let stars = text.chars().take_while(|character| *character == '*').count();
    let (first, mut rest) = name(text.get(stars..)?)?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (digits, behind) = inside.split_once(']')?;
            steps.push(Step::Element(digits.trim().parse().ok()?));
            rest = behind;
        } else {
            let behind = rest.strip_prefix("->").or_else(|| rest.strip_prefix('.'))?;
            let (member, behind) = name(behind)?;
            steps.push(Step::Member(member.into()));
            rest = behind;
        }
    }
    steps.extend(std::iter::repeat_n(Step::Target, stars));
    Some((first.into(), steps))
}

/// The name at the start of a text, and the rest.
fn name(text: &str) -> Option<(&str, &str)> {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
    let end = text.find(|character| !is_part(character)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (!name.is_empty()).then_some((name, rest))
}

impl Step {
    /// The number of the first part that is wanted.
    pub(super) fn number(&self) -> Option<u64> {
        if let Step::Element(number) = self { Some(*number) } else { None }
    }

    /// The part that the step leads to, among the parts of a value from [`Step::number`] on.
    pub(super) fn choose(&self, of: &Node, mut parts: Vec<Node>) -> Option<Node> {
        let at = match self {
            Step::Member(name) => parts.iter().position(|part| part.name == *name)?,
            Step::Element(number) => parts.iter().position(|part| part.name == format!("[{number}]"))?,
            // The parts of a pointer to a structure are its members.
            Step::Target => parts.iter().position(|part| part.name == format!("*{}", of.name))?,
        };
        Some(parts.swap_remove(at))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Member(name) => f.write_str(name),
            Step::Element(number) => write!(f, "[{number}]"),
            Step::Target => f.write_str("*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_variables_are_named_as_in_c() {
        let member = |name: &str| Step::Member(name.into());
        assert_eq!(parse("a"), Some(("a".into(), vec![])));
        assert_eq!(parse("a->b.c[12]"), Some(("a".into(), vec![member("b"), member("c"), Step::Element(12)])));
        assert_eq!(parse("**a"), Some(("a".into(), vec![Step::Target, Step::Target])));
        for other in ["", "1 + 2", "a + b", "a.", "a[", "a[b]", "*", "&a", "a->"] {
            assert!(parse(other).is_none_or(|(first, _)| first == "1"), "{other}");
        }
    }
}
