//! The packages that are published: `cargo package` makes them, and each holds what it needs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{cross, run};

/// The first cargo that packages workspace members which depend on each other.
const CARGO: &str = "1.90";
/// Files of a package beside its sources; links to licences of the checkout become files.
const FILES: [&str; 4] = ["README.md", "LICENSE-APACHE", "LICENSE-GPL-2.0", "LICENSE-MIT"];

/// A package of the workspace that is published.
struct Package {
    name: String,
    version: String,
    /// Its folder in the checkout.
    folder: PathBuf,
}

/// Why nothing can be packaged here.
pub(crate) fn obstacle() -> Option<String> {
    let told = run::output(&mut run::cargo(&["--version"])).unwrap_or_default();
    let version = told.split(' ').nth(1).unwrap_or_default();
    let is_old = cross::numbers(version) < cross::numbers(CARGO);
    is_old.then(|| format!("cargo {version} cannot package a workspace; {CARGO} can"))
}

/// The lane: makes the packages and looks into them.
pub(crate) fn check() -> Result<()> {
    make(&run::root().join("target/packages")).map(drop)
}

/// The names of the packages that are published.
pub(crate) fn names() -> Result<Vec<String>> {
    Ok(published()?.into_iter().map(|package| package.name).collect())
}

/// Makes the packages with `target` as cargo's target folder, and unpacks them into a workspace of their own: the folder returned.
pub(crate) fn make(target: &Path) -> Result<PathBuf> {
    let packages = published()?;
    let mut command = run::cargo(&["package", "--quiet", "--no-verify", "--allow-dirty", "--target-dir"]);
    command.arg(target);
    for package in &packages {
        command.args(["--package", &package.name]);
    }
    run::run(&mut command)?;
    let workspace = target.join("unpacked");
    if workspace.exists() {
        fs::remove_dir_all(&workspace).with_context(|| format!("cannot remove {}", workspace.display()))?;
    }
    fs::create_dir_all(&workspace).with_context(|| format!("cannot make {}", workspace.display()))?;
    let mut wrong = Vec::new();
    for package in &packages {
        let folder = format!("{}-{}", package.name, package.version);
        let archive = target.join("package").join(format!("{folder}.crate"));
        // The times in an archive are the same in each: cargo would take a changed file for that of the last run.
        run::run(Command::new("tar").arg("xzf").arg(archive).arg("--touch").arg("--directory").arg(&workspace))?;
        wrong.extend(missing(package, &workspace.join(folder))?);
    }
    if !wrong.is_empty() {
        bail!("files that packages lack:\n{}", wrong.join("\n"));
    }
    let manifest = workspace.join("Cargo.toml");
    let own = fs::read_to_string(run::root().join("Cargo.toml")).context("cannot read Cargo.toml")?;
    fs::write(&manifest, workspace_of(&packages, &own))
        .with_context(|| format!("cannot write {}", manifest.display()))?;
    fs::copy(run::root().join("Cargo.lock"), workspace.join("Cargo.lock")).context("cannot copy Cargo.lock")?;
    Ok(workspace)
}

/// The packages of the workspace whose manifests do not forbid it.
fn published() -> Result<Vec<Package>> {
    let told = run::output(&mut run::cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    let told: Value = serde_json::from_str(&told).context("cargo's metadata is not JSON")?;
    let packages = told["packages"].as_array().context("cargo's metadata has no packages")?;
    Ok(packages.iter().filter_map(package).collect())
}

fn package(told: &Value) -> Option<Package> {
    let text = |key: &str| told[key].as_str().map(str::to_owned);
    let folder = Path::new(told["manifest_path"].as_str()?).parent()?.to_path_buf();
    told["publish"].is_null().then_some(Package { name: text("name")?, version: text("version")?, folder })
}

/// The sources that the checkout has and the unpacked package lacks, and those of [`FILES`] that are missing or empty.
fn missing(package: &Package, unpacked: &Path) -> Result<Vec<String>> {
    let sources = run::output(Command::new("git").args(["ls-files", "-z", "src"]).current_dir(&package.folder))?;
    // A file removed in the work tree and not yet in the index is no source.
    let sources = sources.split('\0').filter(|name| !name.is_empty() && package.folder.join(name).exists());
    let is_there = |name: &str| fs::metadata(unpacked.join(name)).is_ok_and(|file| file.len() > 0);
    let missing = sources.chain(FILES).filter(|name| !is_there(name));
    Ok(missing.map(|name| format!("{}: {name}", package.name)).collect())
}

/// A manifest that makes a workspace of unpacked packages, which depend on each other and not on what a registry has. It has the profiles
/// of the checkout's manifest `own`, which stand last in it: a target folder then serves both.
fn workspace_of(packages: &[Package], own: &str) -> String {
    let mut text = String::from("[workspace]\nresolver = \"3\"\nmembers = [\"ntrace-*\"]\n\n[patch.crates-io]\n");
    for Package { name, version, .. } in packages {
        text += &format!("{name} = {{ path = \"{name}-{version}\" }}\n");
    }
    text + own.find("\n[profile.").map_or("", |start| &own[start..])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_package_is_published_unless_its_manifest_forbids_it() {
        let told = |publish: Value| json!({ "name": "a", "version": "1.0.0", "manifest_path": "/x/a/Cargo.toml", "publish": publish });
        assert!(package(&told(Value::Null)).is_some_and(|package| package.folder == Path::new("/x/a")));
        assert!(package(&told(json!([]))).is_none());
    }

    #[test]
    fn unpacked_packages_are_built_as_those_of_the_checkout() {
        let own =
            "[workspace]\nmembers = [\"a\"]\n\n[profile.release]\nlto = \"off\"\n\n[profile.dev]\nopt-level = 1\n";
        let package = Package { name: "ntrace-a".into(), version: "1".into(), folder: "/x/a".into() };
        let text = workspace_of(&[package], own);
        assert!(text.contains("ntrace-a = { path = \"ntrace-a-1\" }\n\n[profile.release]\n"), "{text}");
        assert!(text.ends_with("opt-level = 1\n") && !text.contains("\"a\""), "{text}");
    }

    #[test]
    fn a_file_that_a_package_lacks_is_named() {
        let root = run::root();
        let package = Package { name: "ntrace-wire".into(), version: "0".into(), folder: root.join("wire") };
        assert_eq!(missing(&package, &root.join("wire")).unwrap(), Vec::<String>::new());
        let missing = missing(&package, &root.join("docs")).unwrap();
        assert!(missing.contains(&"ntrace-wire: src/lib.rs".to_owned()), "{missing:?}");
        assert!(missing.contains(&"ntrace-wire: LICENSE-MIT".to_owned()), "{missing:?}");
    }
}
