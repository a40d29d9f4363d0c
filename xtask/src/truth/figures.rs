//! docs/figures.txt: sections of measured figures, each with the day and the commit of its run.

use std::fmt;

use anyhow::{Context, Result, bail};

/// A section: the figures of one long run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) name: String,
    /// Day, commit and processor.
    pub(super) when: String,
    /// Subject and value; a value is a number, or `name=number` words.
    pub(super) rows: Vec<(String, String)>,
}

impl Section {
    fn processor(&self) -> &str {
        self.when.splitn(3, ' ').nth(2).unwrap_or("")
    }
}

/// All sections.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Figures(Vec<Section>);

impl Figures {
    /// Reads `[SECTION] DAY COMMIT PROCESSOR` lines, each followed by `SUBJECT VALUE` lines. `#` begins a comment.
    pub(super) fn parse(file: &str, text: &str) -> Result<Figures> {
        let mut sections: Vec<Section> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (first, rest) = line.split_once(' ').with_context(|| format!("{file}:{}: `{line}`", number + 1))?;
            if let Some(name) = first.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
                sections.push(Section { name: name.to_owned(), when: rest.to_owned(), rows: Vec::new() });
            } else if let Some(section) = sections.last_mut() {
                section.rows.push((first.to_owned(), rest.to_owned()));
            } else {
                bail!("{file}:{}: `{line}` stands in no section", number + 1);
            }
        }
        Ok(Figures(sections))
    }

    /// The sections of that name, one for each processor.
    pub(super) fn sections(&self, name: &str) -> impl Iterator<Item = &Section> {
        self.0.iter().filter(move |section| section.name == name)
    }

    /// Replaces the processor's older figures of `section` by those in `noted` (lines `SECTION SUBJECT VALUE`), measured `when`.
    pub(super) fn replace(&mut self, section: &str, when: &str, noted: &str) -> Result<()> {
        let rows: Vec<(String, String)> = noted
            .lines()
            .filter_map(|line| line.strip_prefix(section)?.strip_prefix(' ')?.split_once(' '))
            .map(|(subject, value)| (subject.to_owned(), value.to_owned()))
            .collect();
        if rows.is_empty() {
            bail!("the run noted no figure of `{section}`");
        }
        let new = Section { name: section.to_owned(), when: when.to_owned(), rows };
        match self.0.iter_mut().find(|old| old.name == section && old.processor() == new.processor()) {
            Some(old) => *old = new,
            None => self.0.push(new),
        }
        Ok(())
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Figures as measured: [section] day commit processor, then subject and value. Written by `cargo xtask truth SECTION`."
        )?;
        for section in &self.0 {
            writeln!(f, "\n[{}] {}", section.name, section.when)?;
            for (subject, value) in &section.rows {
                writeln!(f, "{subject} {value}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[a] 2026-01-01 abc A model 1\none 1\ntwo x=1 y=2\n\n[b] 2026-01-02 def\nthree 3\n";

    #[test]
    fn what_is_written_reads_the_same() {
        let figures = Figures::parse("f", TEXT).unwrap();
        assert_eq!(Figures::parse("f", &figures.to_string()).unwrap(), figures);
        assert_eq!(figures.sections("a").next().unwrap().rows[1], ("two".to_owned(), "x=1 y=2".to_owned()));
    }

    #[test]
    fn a_new_run_replaces_its_section_alone() {
        let mut figures = Figures::parse("f", TEXT).unwrap();
        figures.replace("a", "2026-01-03 fed A model 1", "b three 4\na one 5\n").unwrap();
        assert_eq!(figures.sections("a").next().unwrap().rows, [("one".to_owned(), "5".to_owned())]);
        assert_eq!(figures.sections("a").next().unwrap().when, "2026-01-03 fed A model 1");
        assert_eq!(figures.sections("b").next().unwrap().rows, [("three".to_owned(), "3".to_owned())]);
        figures.replace("a", "2026-01-03 fed B model 1", "a one 6\n").unwrap();
        assert_eq!(figures.sections("a").count(), 2, "another processor's stand beside");
        assert!(figures.replace("c", "2026-01-03 fed A model 1", "a one 5\n").is_err());
    }

    #[test]
    fn a_figure_outside_a_section_is_an_error_that_names_the_line() {
        let error = Figures::parse("f", "# x\none 1\n").unwrap_err().to_string();
        assert_eq!(error, "f:2: `one 1` stands in no section");
    }
}
