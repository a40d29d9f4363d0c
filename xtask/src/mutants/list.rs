//! The mutants that cargo-mutants makes of a room.

use std::ops::Range;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::run;

/// A small change of a room's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mutant {
    /// The file's path from the root on.
    pub(super) file: String,
    /// The place of the replaced text: line and column, counted from 1, of its first character and of the first character behind it.
    pub(super) start: (usize, usize),
    pub(super) end: (usize, usize),
    pub(super) replacement: String,
    /// `FILE:LINE:COLUMN: CHANGE`.
    pub(super) name: String,
}

impl Mutant {
    /// The bytes of `text` that are replaced.
    pub(super) fn bytes(&self, text: &str) -> Option<Range<usize>> {
        Some(offset(text, self.start)?..offset(text, self.end)?)
    }
}

/// A mutant's name as `FILE: CHANGE`, which stays when lines are inserted above.
pub(super) fn without_place(name: &str) -> String {
    let mut parts = name.splitn(4, ':');
    match (parts.next(), parts.nth(2)) {
        (Some(file), Some(change)) => format!("{file}:{change}"),
        _ => name.to_owned(),
    }
}

/// All mutants of a package, or those in files that match a glob.
pub(super) fn list(package: &str, glob: Option<&str>) -> Result<Vec<Mutant>> {
    let mut command = run::cargo(&["mutants", "--list", "--json", "--package", package]);
    command.args(glob.iter().flat_map(|glob| ["--file", glob]));
    parse(&run::output(&mut command)?)
}

fn parse(json: &str) -> Result<Vec<Mutant>> {
    let list: Vec<Value> = serde_json::from_str(json).context("cargo-mutants' list is not JSON")?;
    list.iter().map(|value| one(value).with_context(|| format!("cargo-mutants lists {value}"))).collect()
}

fn one(value: &Value) -> Option<Mutant> {
    let text = |name: &str| Some(value.get(name)?.as_str()?.to_owned());
    let place = |end: &str| {
        let place = value.get("span")?.get(end)?;
        let number = |name: &str| usize::try_from(place.get(name)?.as_u64()?).ok();
        Some((number("line")?, number("column")?))
    };
    let (start, end) = (place("start")?, place("end")?);
    Some(Mutant { file: text("file")?, start, end, replacement: text("replacement")?, name: text("name")? })
}

/// The byte at a line and a column, which counts characters.
fn offset(text: &str, (line, column): (usize, usize)) -> Option<usize> {
    let start = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum::<usize>();
    let rest = text.get(start..)?;
    Some(start + rest.char_indices().map(|(at, _)| at).chain([rest.len()]).nth(column.checked_sub(1)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_known_by_file_and_change_wherever_it_stands() {
        let told = "insn/src/x86/key.rs:45:20: replace + with - in key";
        assert_eq!(without_place(told), "insn/src/x86/key.rs: replace + with - in key");
    }

    #[test]
    fn a_listed_mutant_says_what_it_replaces() {
        let json = r#"[{"file": "a.rs", "name": "a.rs:2:3: replace + with -", "replacement": "-",
            "span": {"start": {"line": 2, "column": 3}, "end": {"line": 2, "column": 4}}}]"#;
        let mutants = parse(json).unwrap();
        assert_eq!(mutants[0].bytes("x\né + 1\n"), Some(5..6));
        assert!(parse(r#"[{"file": "a.rs"}]"#).unwrap_err().to_string().contains("a.rs"));
    }
}
