//! Running commands in the workspace's root.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// `cargo ARGUMENTS` in the root, by the cargo that runs this.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Shows the command, runs it, and fails where it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    eprintln!("$ {shown}");
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed: {status}");
    }
    Ok(())
}

/// The command's standard output, with an error where it fails.
pub(crate) fn bytes(command: &mut Command) -> Result<Vec<u8>> {
    let shown = show(command);
    let output = command.output().with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` failed: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}

/// The command's standard output as text, with an error where it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let text = bytes(command)?;
    String::from_utf8(text).with_context(|| format!("`{}` did not answer in UTF-8", show(command)))
}

/// The files of a folder, in the order of their names.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    Ok(files)
}

/// Whether a program of that name is in PATH.
pub(crate) fn is_installed(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// Installs a subcommand of cargo where it is missing.
pub(crate) fn install_tool(name: &str) -> Result<()> {
    if is_installed(name) {
        return Ok(());
    }
    run(&mut cargo(&["install", "--locked", name]))
}

fn show(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or(command.get_program()).to_string_lossy();
    command.get_args().fold(name.into_owned(), |line, argument| line + " " + &argument.to_string_lossy())
}
