use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Notes that the test `name` cannot run here, with the reason. The test then returns.
///
/// The line goes to standard error, and to the file that the variable `NTRACE_SKIPPED` names: `cargo xtask test` prints
/// that file at its end, so that nothing is skipped in silence.
///
/// # Panics
/// Where the file cannot be written: a skip that nobody learns of is a failure.
pub fn skip(name: &str, reason: impl Display) {
    let line = format!("SKIPPED {name}: {reason}\n");
    eprint!("{line}");
    if let Some(path) = std::env::var_os("NTRACE_SKIPPED") {
        let written = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        assert!(written.is_ok(), "cannot note a skipped test in {}: {written:?}", Path::new(&path).display());
    }
}
