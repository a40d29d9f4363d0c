use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Notes what a run measured: a line `section key value` in the file that the variable `NTRACE_FIGURES` names, where it is set.
///
/// `section` and `key` hold no blanks (those of `key` become `_`); the value is the rest of the line. The tables of the
/// documentation are made from such lines.
///
/// # Panics
/// Where the file cannot be written.
pub fn figure(section: &str, key: &str, value: impl Display) {
    let Some(path) = std::env::var_os("NTRACE_FIGURES") else { return };
    let key = key.replace(char::is_whitespace, "_");
    let line = format!("{section} {key} {value}\n");
    let written =
        OpenOptions::new().append(true).create(true).open(&path).and_then(|mut file| file.write_all(line.as_bytes()));
    assert!(written.is_ok(), "cannot note a figure in {}: {written:?}", Path::new(&path).display());
}
