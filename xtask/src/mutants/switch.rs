//! Builds all mutants of a file at once: each function chooses one of its bodies by a number when it is called.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, ReturnType, Signature, TraitItemFn, Type};

use super::list::Mutant;

/// The module that gives functions the number. It stands at the end of the room's `lib.rs`.
pub(super) const CHOICE: &str = r#"
mod mutant {
    extern crate std;

    /// The number of the mutant that is asked for; 0 for none.
    pub(crate) fn chosen() -> usize {
        static CHOSEN: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        *CHOSEN.get_or_init(|| std::env::var("NTRACE_MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0))
    }
}
"#;

/// A file's text with a body for each mutant, and the lines where each of these stands.
pub(super) struct Switched {
    pub(super) text: String,
    pub(super) lines: BTreeMap<usize, Range<usize>>,
}

/// Which of a file's mutants can be chosen when the program runs. Mutants of constants and of `const` functions cannot, nor can those
/// of functions whose bodies would have different types.
pub(super) fn is_switchable(text: &str, mutants: &[(usize, &Mutant)]) -> Result<Vec<bool>> {
    let bodies = bodies(text)?;
    Ok(mutants.iter().map(|(_, mutant)| body_of(&bodies, text, mutant).is_some()).collect())
}

/// The file with its mutants, each under its number. All of them must be switchable.
pub(super) fn switch(text: &str, mutants: &[(usize, &Mutant)]) -> Result<Switched> {
    let bodies = bodies(text)?;
    let mut by_body: BTreeMap<usize, Vec<(usize, &Mutant)>> = BTreeMap::new();
    for (number, mutant) in mutants {
        let body = body_of(&bodies, text, mutant).with_context(|| format!("{} has no body", mutant.name))?;
        by_body.entry(body).or_default().push((*number, mutant));
    }
    let mut switched = Switched { text: String::new(), lines: BTreeMap::new() };
    let mut copied = 0;
    for (body, mutants) in by_body {
        let body = &bodies[body].range;
        switched.text += &text[copied..body.start];
        switched.text += "{ match crate::mutant::chosen() {\n";
        for (number, mutant) in mutants {
            let replaced = mutant.bytes(text).with_context(|| format!("{} is at no place", mutant.name))?;
            let first = switched.text.matches('\n').count() + 1;
            let (before, behind) = (&text[body.start..replaced.start], &text[replaced.end..body.end]);
            switched.text += &format!("{number} => {before}{}{behind}\n", mutant.replacement);
            switched.lines.insert(number, first..switched.text.matches('\n').count() + 1);
        }
        switched.text += &format!("_ => {}\n}} }}", &text[body.clone()]);
        copied = body.end;
    }
    switched.text += &text[copied..];
    // Inlining functions with many bodies into each other is more than a compiler can do.
    switched.text = switched.text.replace("#[inline(always)]", "#[inline(never)]");
    Ok(switched)
}

/// The body of a function that lies in no other function.
struct Body {
    /// From brace to brace.
    range: Range<usize>,
    can_choose: bool,
}

/// By place.
fn bodies(text: &str) -> Result<Vec<Body>> {
    let file = syn::parse_file(text).context("it is not Rust")?;
    let mut finder = Finder::default();
    finder.visit_file(&file);
    Ok(finder.found)
}

fn body_of(bodies: &[Body], text: &str, mutant: &Mutant) -> Option<usize> {
    let replaced = mutant.bytes(text)?;
    let inside = |body: &Body| body.range.start < replaced.start && replaced.end < body.range.end;
    bodies.iter().position(|body| body.can_choose && inside(body))
}

#[derive(Default)]
struct Finder {
    found: Vec<Body>,
}

impl Finder {
    /// What is inside a function is a part of it.
    fn add(&mut self, signature: &Signature, block: &Block) {
        let is_some_type =
            matches!(&signature.output, ReturnType::Type(_, output) if matches!(**output, Type::ImplTrait(_)));
        let can_choose = signature.constness.is_none() && !is_some_type;
        self.found.push(Body { range: block.brace_token.span.join().byte_range(), can_choose });
    }
}

impl Visit<'_> for Finder {
    fn visit_item_fn(&mut self, function: &ItemFn) {
        self.add(&function.sig, &function.block);
    }

    fn visit_impl_item_fn(&mut self, function: &ImplItemFn) {
        self.add(&function.sig, &function.block);
    }

    fn visit_trait_item_fn(&mut self, function: &TraitItemFn) {
        match &function.default {
            Some(block) => self.add(&function.sig, block),
            None => visit::visit_trait_item_fn(self, function),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "const N: u8 = 1 + 2;\nfn f(x: u8) -> u8 {\n    x + N\n}\nconst fn g() -> u8 { 1 + 1 }\nfn h() -> impl Iterator { 0..1 + 1 }\n";

    fn plus(line: usize, column: usize) -> Mutant {
        let (start, end) = ((line, column), (line, column + 1));
        Mutant { file: "a.rs".into(), start, end, replacement: "-".into(), name: format!("a.rs:{line}:{column}: a") }
    }

    #[test]
    fn a_function_has_a_body_for_each_mutant_and_its_own() {
        let switched = switch(TEXT, &[(7, &plus(3, 7))]).unwrap();
        let expected =
            "fn f(x: u8) -> u8 { match crate::mutant::chosen() {\n7 => {\n    x - N\n}\n_ => {\n    x + N\n}\n} }\n";
        assert!(switched.text.contains(expected), "{}", switched.text);
        assert_eq!(switched.lines[&7], 3..6);
    }

    #[test]
    fn constants_and_what_makes_them_cannot_choose() {
        let mutants = [plus(1, 17), plus(3, 7), plus(5, 24), plus(6, 33)];
        let numbered: Vec<(usize, &Mutant)> = mutants.iter().enumerate().collect();
        assert_eq!(is_switchable(TEXT, &numbered).unwrap(), [false, true, false, false]);
    }
}
