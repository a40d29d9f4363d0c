//! Inputs of one claim: those checked in, packed in one file, and those that fuzzing adds, each a file of its own.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{libfuzzer, run};

/// The most bytes of text that one claim's corpus may have.
const MOST: usize = 160 << 10;

pub(crate) struct Corpus {
    target: String,
}

impl Corpus {
    pub(crate) fn of(target: &str) -> Corpus {
        Corpus { target: target.into() }
    }

    /// Where libFuzzer reads and adds inputs.
    pub(crate) fn folder(&self) -> PathBuf {
        libfuzzer::folder().join("corpus").join(&self.target)
    }

    fn packed(&self) -> PathBuf {
        run::root().join("fuzz/corpus").join(&self.target)
    }

    /// Writes the checked-in inputs to a file each, and returns their paths.
    pub(crate) fn unpack(&self) -> Result<Vec<PathBuf>> {
        let folder = self.folder();
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let path = self.packed();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut files = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let Some(bytes) = bytes(line) else { bail!("{}: line {}: not hexadecimal", path.display(), number + 1) };
            let file = folder.join(format!("seed-{number}"));
            fs::write(&file, bytes).with_context(|| format!("cannot write {}", file.display()))?;
            files.push(file);
        }
        Ok(files)
    }

    /// Replaces the checked-in inputs by the smallest set that covers as much as all known inputs.
    pub(crate) fn minimize(&self, binary: &Path) -> Result<()> {
        let fewest = self.folder().with_extension("fewest");
        if fewest.exists() {
            fs::remove_dir_all(&fewest).with_context(|| format!("cannot remove {}", fewest.display()))?;
        }
        fs::create_dir_all(&fewest).with_context(|| format!("cannot make {}", fewest.display()))?;
        libfuzzer::merge(binary, &fewest, &self.folder())?;
        let mut inputs = Vec::new();
        for entry in fs::read_dir(&fewest).with_context(|| format!("cannot read {}", fewest.display()))? {
            let path = entry?.path();
            inputs.push(fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?);
        }
        inputs.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        let lines: Vec<String> = inputs.iter().map(|input| line(input)).collect();
        // The shortest inputs come first. Fuzzing soon finds again what does not fit.
        let mut size = 0;
        let fitting = lines.iter().take_while(|line| {
            size += line.len() + 1;
            size <= MOST
        });
        let text: String = fitting.map(|line| format!("{line}\n")).collect();
        println!("{}: {} of {} inputs kept, {} bytes", self.target, text.lines().count(), lines.len(), text.len());
        fs::write(self.packed(), text).with_context(|| format!("cannot write {}", self.packed().display()))
    }
}

fn line(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    if digits.len() % 2 != 0 {
        return None;
    }
    let pairs = digits.as_bytes().chunks_exact(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_back_its_input() {
        for input in [&[][..], &[0], &[1, 0xfe, 0x20]] {
            assert_eq!(bytes(&line(input)).as_deref(), Some(input));
        }
        assert_eq!(bytes("0"), None);
        assert_eq!(bytes("zz"), None);
    }
}
