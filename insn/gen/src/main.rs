//! Writes insn's tables from opcodes.txt, or with `--check` tells whether they are up to date.

mod emit;
mod hot;
mod parse;
mod rules;
mod semantics;
mod validity;

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

fn run(check: bool) -> Result<(), String> {
    let x86 = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/x86");
    let source = x86.join("opcodes.txt");
    let text = std::fs::read_to_string(&source).map_err(|e| format!("{}: {e}", source.display()))?;
    let forms = parse::parse(&text)?;
    let slots = parse::slots(&forms);
    let hot = hot::build(&forms, &slots);
    let validity = validity::build(&forms, &slots);
    let semantics = semantics::build(&forms, &validity.forms)?;
    let files = [
        ("hot.rs", emit::hot(&hot)),
        ("validity.rs", emit::validity(&validity)),
        ("semantics.rs", emit::semantics(&semantics)),
    ];
    for (name, text) in files {
        let path: PathBuf = x86.join("generated").join(name);
        let text = format(&text)?;
        if check {
            if std::fs::read_to_string(&path).ok().as_deref() != Some(&text) {
                return Err(format!("{} is not what opcodes.txt gives; run `cargo xtask gen`", path.display()));
            }
        } else {
            std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    Ok(())
}

/// As rustfmt writes it.
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
