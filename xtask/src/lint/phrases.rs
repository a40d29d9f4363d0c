//! Phrases that the project's prose does without: phrases.txt has them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run;

/// Phrases with advice, and folders that are left out.
const TABLE: &str = include_str!("phrases.txt");
/// The files that are looked into.
const FILES: [&str; 4] = ["*.rs", "*.c", "*.h", "*.md"];

/// A phrase in lower case, and what to write instead.
struct Phrase {
    words: &'static str,
    advice: &'static str,
}

/// Fails where a comment or a document has one of the phrases.
pub(super) fn check(root: &Path) -> Result<()> {
    let (phrases, exceptions) = parse(TABLE)?;
    let listed = run::output(Command::new("git").args(["ls-files", "-z"]).args(FILES).current_dir(root))?;
    let mut wrong = Vec::new();
    for name in listed.split('\0').filter(|name| !name.is_empty() && root.join(name).exists()) {
        if exceptions.iter().any(|folder| name.starts_with(folder)) {
            continue;
        }
        let text = fs::read_to_string(root.join(name)).with_context(|| format!("cannot read {name}"))?;
        let prose = if name.ends_with(".md") { document(&text) } else { comments(&text) };
        for (line, phrase) in find(&prose, &phrases) {
            wrong.push(format!("{name}:{line}: \"{}\": {}", phrase.words, phrase.advice));
        }
    }
    if !wrong.is_empty() {
        bail!("phrases that xtask/src/lint/phrases.txt forbids:\n{}", wrong.join("\n"));
    }
    Ok(())
}

fn parse(table: &'static str) -> Result<(Vec<Phrase>, Vec<&'static str>)> {
    let (mut phrases, mut exceptions) = (Vec::new(), Vec::new());
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(folder) = line.strip_prefix("except ") {
            exceptions.push(folder);
        } else {
            let (words, advice) = line.split_once(": ").with_context(|| format!("phrases.txt: `{line}`"))?;
            phrases.push(Phrase { words, advice });
        }
    }
    Ok((phrases, exceptions))
}

/// The lines of a document, numbered, without its blocks of code.
fn document(text: &str) -> Vec<(usize, &str)> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push((number + 1, line));
        }
    }
    lines
}

/// The comments of a source file by line: what stands behind `//`, and between `/*` and `*/`.
fn comments(text: &str) -> Vec<(usize, &str)> {
    let mut is_block = false;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let begin = if is_block { Some(0) } else { line.find("//").into_iter().chain(line.find("/*")).min() };
        if let Some(begin) = begin {
            lines.push((number + 1, line[begin..].trim_start_matches(['/', '!', '*', ' ', '\t'])));
            let rest = &line[begin..];
            is_block = (is_block || rest.starts_with("/*")) && !rest.contains("*/");
        }
    }
    lines
}

/// The phrases in numbered lines, with the line in which each begins. One may go over to the next line.
fn find<'a>(lines: &[(usize, &str)], phrases: &'a [Phrase]) -> Vec<(usize, &'a Phrase)> {
    let mut found = Vec::new();
    for (place, (number, line)) in lines.iter().enumerate() {
        let next = lines.get(place + 1).filter(|(next, _)| *next == number + 1).map_or("", |(_, next)| next);
        let this = line.trim().to_lowercase();
        let both = format!("{this} {}", next.trim().to_lowercase());
        for phrase in phrases {
            let mut places = both.match_indices(phrase.words).map(|(at, _)| at);
            if places.any(|at| at < this.len() && is_whole(&both, at, phrase.words.len())) {
                found.push((*number, phrase));
            }
        }
    }
    found
}

/// Whether no letter stands before or behind the bytes.
fn is_whole(text: &str, at: usize, length: usize) -> bool {
    let before = text[..at].chars().next_back();
    let behind = text[at + length..].chars().next();
    !before.into_iter().chain(behind).any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_with(prose: &[(usize, &str)]) -> Vec<usize> {
        let phrases = [Phrase { words: "green tea", advice: "" }];
        find(prose, &phrases).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn the_table_has_an_advice_for_every_phrase() {
        let (phrases, _) = parse(TABLE).unwrap();
        assert!(phrases.iter().all(|phrase| !phrase.advice.is_empty() && phrase.words == phrase.words.to_lowercase()));
    }

    #[test]
    fn a_phrase_is_found_in_comments_also_over_the_end_of_a_line() {
        let rust = "let a = \"green tea\";\n/// Green tea.\n/// At most green\n/// tea.\nlet b = 1; // also green tea\n/// Not in\n";
        assert_eq!(lines_with(&comments(rust)), [2, 3, 5]);
        assert_eq!(lines_with(&comments("/*\n * Green\n * tea\n */\nint green, tea;\n")), [2]);
    }

    #[test]
    fn words_that_only_contain_a_phrase_are_others() {
        assert!(lines_with(&[(1, "evergreen teapot, green teapot")]).is_empty());
        assert!(lines_with(&[(1, "green"), (3, "tea")]).is_empty());
    }

    #[test]
    fn the_code_of_a_document_is_no_prose() {
        assert_eq!(lines_with(&document("green tea\n```\ngreen tea\n```\nnot\n")), [1]);
    }
}
