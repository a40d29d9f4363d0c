use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Builds `tests/programs/NAME` with Go, in a directory that goes with the value returned.
///
/// # Errors
/// There is no Go, or it cannot build the program.
///
/// # Panics
/// Where no temporary directory can be made.
pub fn build_go(name: &str) -> Result<(TempDir, PathBuf), String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = directory.path().join(name.trim_end_matches(".go"));
    let mut go = Command::new("go");
    let output = go.args(["build", "-o"]).arg(&program).arg(source).current_dir(directory.path()).output();
    let output = output.map_err(|error| format!("cannot run go: {error}"))?;
    if !output.status.success() {
        return Err(format!("go cannot build {name}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok((directory, program))
}
