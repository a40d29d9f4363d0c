//! The files of the checkout that packages and builds of the module take.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run;

/// The list of what the module's package has of the checkout.
const RULES: &str = "debian/rules";

/// The files and folders of the checkout that the module is built from.
pub(crate) fn sources() -> Result<Vec<String>> {
    let rules = fs::read_to_string(run::root().join(RULES)).with_context(|| format!("cannot read {RULES}"))?;
    let line = rules.lines().find_map(|line| line.strip_prefix("sources := "));
    let line = line.with_context(|| format!("{RULES} has no line `sources := `"))?;
    Ok(line.split_whitespace().map(str::to_owned).collect())
}

/// Copies the files below `paths`, or all, that git knows into a folder.
pub(crate) fn copy_files(paths: &[String], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let list = folder.with_extension("list");
    fs::write(&list, files(paths)?.join("\0")).with_context(|| format!("cannot write {}", list.display()))?;
    let archive = folder.with_extension("tar");
    let mut pack = Command::new("tar");
    pack.arg("--create").arg("--file").arg(&archive).args(["--null", "--no-unquote", "--files-from"]).arg(&list);
    run::run(pack.current_dir(run::root()))?;
    run::run(Command::new("tar").arg("--extract").arg("--file").arg(&archive).arg("--directory").arg(folder))?;
    for file in [&list, &archive] {
        fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))?;
    }
    Ok(())
}

/// The files below `paths`, or all, that git knows and the work tree has.
pub(super) fn files(paths: &[String]) -> Result<Vec<String>> {
    let listed = run::output(Command::new("git").args(["ls-files", "-z"]).args(paths).current_dir(run::root()))?;
    let mut files: Vec<String> = listed.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    files.retain(|name| run::root().join(name).exists());
    if files.is_empty() {
        bail!("git knows none of {paths:?}");
    }
    Ok(files)
}
