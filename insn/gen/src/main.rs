//! Writes insn's tables from its data files, or with `--check` fails if they are not up to date.

#[macro_use]
#[path = "../../src/codes.rs"]
mod codes;

mod alternatives;
mod arm64;
mod names;
mod write;
mod x86;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    let check = std::env::args().any(|a| a == "--check");
    match run(check) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("insn-gen: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The generated files of an architecture: name and text.
type Files = Vec<(&'static str, String)>;
/// An architecture: folder, data file, function that makes the tables.
type Architecture = (&'static str, &'static str, fn(&str) -> Result<Files, String>);

const ARCHITECTURES: [Architecture; 3] = [
    ("x86", "opcodes.txt", x86::tables),
    ("arm64", "encodings.txt", arm64::tables),
    ("arm64", "operands.txt", arm64::operand_tables),
];

fn run(check: bool) -> Result<(), String> {
    for (folder, data, tables) in ARCHITECTURES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src").join(folder);
        let source = folder.join(data);
        let text = std::fs::read_to_string(&source).map_err(|e| format!("{}: {e}", source.display()))?;
        for (name, text) in tables(&text).map_err(|e| format!("{data}: {e}"))? {
            let path: PathBuf = folder.join("generated").join(name);
            let text = format(&text)?;
            if check {
                if std::fs::read_to_string(&path).ok().as_deref() != Some(&text) {
                    return Err(format!("{} is not what {data} gives; run `cargo xtask gen`", path.display()));
                }
            } else {
                std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
            }
        }
    }
    Ok(())
}

/// Formats source text with rustfmt.
fn format(text: &str) -> Result<String, String> {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(config)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("rustfmt: {e}"))?;
    let mut stdin = child.stdin.take().ok_or("rustfmt has no input")?;
    let text = text.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().map_err(|e| format!("rustfmt: {e}"))?;
    writer.join().map_err(|_| "rustfmt's writer")?.map_err(|e| format!("rustfmt: {e}"))?;
    if !output.status.success() {
        return Err("rustfmt failed".into());
    }
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
}
