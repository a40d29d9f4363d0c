//! Reads encodings.txt into forms; its grammar stands at the head of that file.

use super::operand::{Memory, Operand, Use};
use crate::alternatives::alternatives;

/// A set of words and what they mean. Forms are tried in file order: the first that fits a word wins.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) line: usize,
    /// Mask of the bits that the pattern fixes.
    pub(crate) mask: u32,
    /// Values of these bits.
    pub(crate) value: u32,
    /// Its name, or the bits that choose and a name for each of their values.
    pub(crate) name: String,
    pub(crate) operands: Vec<Operand>,
    pub(crate) memory: Vec<Memory>,
    pub(crate) attrs: Vec<String>,
}

/// Parses the whole file.
pub(crate) fn parse(text: &str) -> Result<Vec<Form>, String> {
    let (mut forms, mut errors) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let number = number + 1;
        for text in alternatives(line).map_err(|e| format!("line {number}: {e}"))? {
            match both(&text, number) {
                Ok(of_line) => forms.extend(of_line),
                Err(error) => errors.push(format!("line {number}: {error}: {text}")),
            }
        }
    }
    if errors.is_empty() { Ok(forms) } else { Err(errors.join("\n")) }
}

/// The form of a line. If bits of it should have a value (`o`, `i`), a second form allows all values.
fn both(text: &str, line: usize) -> Result<Vec<Form>, String> {
    let (pattern, rest) = text.split_once(' ').ok_or("no name")?;
    let mut forms = vec![form(&format!("{} {rest}", pattern.replace('o', "0").replace('i', "1")), line)?];
    if pattern.contains(['o', 'i']) {
        let mut wide = form(&format!("{} {rest}", pattern.replace(['o', 'i'], ".")), line)?;
        wide.attrs.push("unless:always".to_owned());
        forms.push(wide);
    }
    Ok(forms)
}

fn form(text: &str, line: usize) -> Result<Form, String> {
    let mut words = text.split_whitespace();
    let (mask, value) = pattern(words.next().unwrap_or_default())?;
    let name = words.next().ok_or("no name")?.to_owned();
    let mut form = Form { line, mask, value, name, operands: Vec::new(), memory: Vec::new(), attrs: Vec::new() };
    for (i, word) in words.enumerate() {
        let operands = i == 0 && word.starts_with(['<', '>', '&', '!', '@', 'X', 'S', 'V', 'P']);
        if !operands {
            form.attrs.push(word.to_owned());
            continue;
        }
        for (j, operand) in word.split(',').enumerate() {
            let default = if j == 0 { Use::Write } else { Use::Read };
            let (access, rest) = Use::parse(operand).unwrap_or((default, operand));
            match rest.strip_prefix('@') {
                Some(memory) => form.memory.push(Memory::parse(access, memory)?),
                None => form.operands.push(Operand::parse(access, rest)?),
            }
        }
    }
    Ok(form)
}

/// Mask and value of thirty-two of `0`, `1` and `.`, from bit 31 down; `_` only separates.
pub(super) fn pattern(text: &str) -> Result<(u32, u32), String> {
    let (mut mask, mut value, mut count) = (0u32, 0u32, 0);
    for c in text.chars().filter(|c| *c != '_') {
        let (m, v) = match c {
            '0' => (1, 0),
            '1' => (1, 1),
            '.' => (0, 0),
            _ => return Err(format!("{c} in a pattern")),
        };
        (mask, value, count) = (mask << 1 | m, value << 1 | v, count + 1);
    }
    if count == 32 { Ok((mask, value)) } else { Err(format!("a pattern of {count} bits")) }
}
