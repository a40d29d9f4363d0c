//! Names of instructions: each is stored once, in one text.

use crate::write::array;
use std::collections::HashMap;
use std::fmt::Write;

/// Bytes of the text in one line of the source.
const LINE: usize = 110;

/// Names by their number; number 0 is no name.
pub(crate) struct Names {
    all: Vec<String>,
    numbers: HashMap<String, u16>,
}

impl Names {
    pub(crate) fn new() -> Names {
        let mut names = Names { all: Vec::new(), numbers: HashMap::new() };
        names.number("");
        names
    }

    /// The number of a name, which is added where it is new; `-` is no name.
    pub(crate) fn number(&mut self, name: &str) -> u16 {
        let name = if name == "-" { "" } else { name };
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.all.len() as u16;
        self.all.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Writes the text, and where each name starts in it.
    pub(crate) fn emit(&self, out: &mut String) {
        let text = self.all.concat();
        let _ = writeln!(out, "/// All names, one after the other.\npub(crate) static TEXT: &str = \"\\");
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (line, more) = rest.split_at(rest.len().min(LINE));
            let _ = writeln!(out, "    {line}{}", if more.is_empty() { "\";" } else { "\\" });
            rest = more;
        }
        let mut starts = vec![0];
        for name in &self.all {
            starts.push(starts[starts.len() - 1] + name.len());
        }
        assert!(starts.iter().all(|start| *start <= usize::from(u16::MAX)), "the text is too long");
        array(out, "Start of each name in the text, and its end.", "STARTS", "u16", &starts, 12, usize::to_string);
    }
}
