//! `cargo xtask gen`: the tables of insn, from its data files, the manual page and the header of the channel, from wire's declarations, the
//! manual page of the command, from the declarations of its arguments, and the header of the library for C, from its crate.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{host, run, uapi};

/// The manual page of the channel.
const CHANNEL: &str = "docs/ntrace.4";
/// The channel's header for C.
const CHANNEL_HEADER: &str = "kmod/uapi/ntrace.h";
/// The manual page of the command.
const COMMAND: &str = "docs/ntrace.1";
/// The library for C, and its header.
const LIBRARY: &str = "capi";
const LIBRARY_HEADER: &str = "capi/include/ntrace.h";

/// Writes them, or with `check` only compares them.
pub(crate) fn run(check: bool) -> Result<()> {
    write_all(check, &mut run::cargo(&["run", "--quiet", "--bin", "ntrace", "--"]))
}

/// The lane. It takes the `ntrace` command of the tests, whose build all lanes share: built alone, the command's dependencies have other features,
/// and are compiled once more.
pub(crate) fn lane() -> Result<()> {
    let ntrace = host::suite()?.ntrace.context("the tests do not build the command")?;
    write_all(true, &mut Command::new(ntrace))
}

fn write_all(check: bool, ntrace: &mut Command) -> Result<()> {
    let mut arguments = vec!["run", "--quiet", "--package", "insn-gen", "--"];
    if check {
        arguments.push("--check");
    }
    run::run(&mut run::cargo(&arguments))?;
    let mut page = String::new();
    wire::manual::page(&mut page).context("the manual")?;
    write(CHANNEL, &page, check)?;
    write(CHANNEL_HEADER, &uapi::header(), check)?;
    write(LIBRARY_HEADER, &library_header()?, check)?;
    let command = ntrace.arg("man").output().context("ntrace man")?;
    if !command.status.success() {
        bail!("ntrace man failed: {}", String::from_utf8_lossy(&command.stderr));
    }
    write(COMMAND, &String::from_utf8(command.stdout).context("ntrace man")?, check)
}

/// The header of the library for C.
fn library_header() -> Result<String> {
    let folder = run::root().join(LIBRARY);
    let config = cbindgen::Config::from_root_or_default(&folder);
    let bindings = cbindgen::Builder::new().with_crate(&folder).with_config(config).generate().context("cbindgen")?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    Ok(String::from_utf8(text).context("cbindgen")?.replace(" # Safety\n", " The caller vouches for this:\n"))
}

/// Writes a page, or with `check` only compares it with the file.
fn write(file: &str, page: &str, check: bool) -> Result<()> {
    let path = run::root().join(file);
    if !check {
        return fs::write(&path, page).with_context(|| format!("cannot write {file}"));
    }
    if fs::read_to_string(&path).with_context(|| format!("cannot read {file}"))? != page {
        bail!("{file} differs from its declarations; `cargo xtask gen` writes it");
    }
    Ok(())
}
