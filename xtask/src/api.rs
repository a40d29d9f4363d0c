//! `cargo xtask api`: listings of what the libraries offer, in docs/api. The lane *public interface* compares them with the sources.
//!
//! A line is an item with its type, made from what rustdoc writes as JSON. Nothing is published that a tool could compare with, so the listing is
//! the baseline. rustdoc's JSON has a version, and listings of two versions cannot be compared.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::run;

/// Packages and their libraries.
const LIBRARIES: [(&str, &str); 9] = [
    ("ntrace-insn", "insn"),
    ("ntrace-stepping", "stepping"),
    ("ntrace-trampoline", "trampoline"),
    ("ntrace-wire", "wire"),
    ("ntrace-record", "record"),
    ("ntrace-ubp", "ubp"),
    ("ntrace-ubp-symbols", "ubp_symbols"),
    ("ntrace-survey", "survey"),
    ("ntrace-gdbserver", "gdbserver"),
];
const FOLDER: &str = "docs/api";
/// The version of rustdoc's JSON that the listings are made from, that of Rust 1.95.
const FORMAT: u64 = 57;
/// Begins the line with the version of the packages whose interface a listing is.
const VERSION: &str = "version ";
/// How deep modules and re-exports may be nested.
const DEPTH: usize = 12;

/// Why the listings cannot be compared here.
pub(crate) fn obstacle() -> Option<String> {
    match json("ntrace-wire", "wire") {
        Ok(told) if told["format_version"] == FORMAT => None,
        Ok(told) => {
            Some(format!("rustdoc writes JSON of version {}, the listings are of {FORMAT}", told["format_version"]))
        }
        Err(error) => Some(format!("rustdoc writes no JSON: {error:#}")),
    }
}

/// Writes the listings. An item that a released version has does not go.
pub(crate) fn write() -> Result<()> {
    for (package, library) in LIBRARIES {
        let (old, new) = (read(library).unwrap_or_default(), listing(package, library)?);
        if let Some(broken) = broken(&old, &new, is_released(&old)?) {
            bail!("{library}: {broken}");
        }
        let text: String = new.iter().map(|line| format!("{line}\n")).collect();
        fs::create_dir_all(run::root().join(FOLDER)).context("cannot make docs/api")?;
        fs::write(path(library), text).with_context(|| format!("cannot write {}", path(library).display()))?;
    }
    Ok(())
}

/// The lane: the listings are those of the sources.
pub(crate) fn check() -> Result<()> {
    let mut wrong = Vec::new();
    for (package, library) in LIBRARIES {
        let (old, new) = (read(library)?, listing(package, library)?);
        if let Some(broken) = broken(&old, &new, is_released(&old)?) {
            wrong.push(format!("{library}: {broken}"));
        } else if old != new {
            let more = new.difference(&old).map(|line| format!("+ {line}"));
            let less = old.difference(&new).map(|line| format!("- {line}"));
            let changed: Vec<String> = less.chain(more).collect();
            wrong.push(format!(
                "{library}: docs/api lacks changes; `cargo xtask api` writes it:\n{}",
                changed.join("\n")
            ));
        }
    }
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
}

/// What a new listing takes away from a released one without a new version, as an error.
fn broken(old: &BTreeSet<String>, new: &BTreeSet<String>, is_released: bool) -> Option<String> {
    let gone: Vec<&String> = old.difference(new).filter(|line| !line.starts_with(VERSION)).collect();
    if gone.is_empty() || !is_released || minor(old) != minor(new) {
        return None;
    }
    let lines: Vec<String> = gone.iter().map(|line| format!("- {line}")).collect();
    Some(format!(
        "items of a released version are gone or changed. Keep them; or set the next minor version in Cargo.toml, name the change in \
         CHANGELOG.md, and run `cargo xtask api`:\n{}",
        lines.join("\n")
    ))
}

/// The version of a listing without its patch.
fn minor(listing: &BTreeSet<String>) -> Option<&str> {
    let version = listing.iter().find_map(|line| line.strip_prefix(VERSION))?;
    version.rsplit_once('.').map(|(minor, _)| minor)
}

/// Whether the version of a listing is released, by the changelog.
fn is_released(listing: &BTreeSet<String>) -> Result<bool> {
    let changes = fs::read_to_string(run::root().join("CHANGELOG.md")).context("cannot read CHANGELOG.md")?;
    let version = listing.iter().find_map(|line| line.strip_prefix(VERSION)).unwrap_or_default();
    Ok(!version.is_empty() && !changes.contains(&format!("## [{version}] - unreleased")))
}

fn path(library: &str) -> PathBuf {
    run::root().join(FOLDER).join(format!("{library}.txt"))
}

fn read(library: &str) -> Result<BTreeSet<String>> {
    let path = path(library);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// What rustdoc tells of a library. Its JSON is an unstable option, which stable compilers refuse without this variable.
fn json(package: &str, library: &str) -> Result<Value> {
    let target = run::root().join("target/api");
    let mut command =
        run::cargo(&["rustdoc", "--quiet", "--lib", "--all-features", "--package", package, "--target-dir"]);
    command.arg(&target).args(["--", "-Zunstable-options", "--output-format", "json", "--cap-lints", "allow"]);
    run::run(command.env("RUSTC_BOOTSTRAP", "1"))?;
    let path = target.join("doc").join(format!("{library}.json"));
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).context("rustdoc's JSON")
}

fn listing(package: &str, library: &str) -> Result<BTreeSet<String>> {
    let told = json(package, library)?;
    let index = told["index"].as_object().context("rustdoc's JSON has no index")?;
    let version = told["crate_version"].as_str().context("rustdoc's JSON has no version")?;
    let mut lines = BTreeSet::from([format!("{VERSION}{version}")]);
    item(index, &told["root"], "", None, DEPTH, &mut lines);
    Ok(lines)
}

/// Adds an item and what it contains.
fn item(
    index: &Map<String, Value>,
    id: &Value,
    path: &str,
    name: Option<&str>,
    depth: usize,
    lines: &mut BTreeSet<String>,
) {
    let Some(told) = index.get(&id.to_string()).filter(|_| depth > 0) else { return };
    let Some((kind, inner)) = told["inner"].as_object().and_then(|inner| inner.iter().next()) else { return };
    let own = name.or(told["name"].as_str()).unwrap_or_default();
    let path = if path.is_empty() { own.to_owned() } else { format!("{path}::{own}") };
    let mut each = |ids: &Value, path: &str| {
        ids.as_array().into_iter().flatten().for_each(|id| item(index, id, path, None, depth - 1, lines));
    };
    match kind.as_str() {
        "module" => return each(&inner["items"], &path),
        "use" if inner["is_glob"] == true => {
            let parent = path.trim_end_matches("::");
            return each(
                &index.get(&inner["id"].to_string()).unwrap_or(&Value::Null)["inner"]["module"]["items"],
                parent,
            );
        }
        "use" => {
            let (parent, name) = (path.rsplit_once("::").map_or("", |(parent, _)| parent), inner["name"].as_str());
            let parent = parent.strip_suffix("::").unwrap_or(parent);
            if index.contains_key(&inner["id"].to_string()) {
                let parent = if own.is_empty() { path.trim_end_matches("::") } else { parent };
                return item(index, &inner["id"], parent, name, depth - 1, lines);
            }
        }
        "impl" => {
            let is_own = inner["is_synthetic"] != true && inner["blanket_impl"].is_null();
            let path = path.trim_end_matches("::");
            if inner["trait"].is_null() {
                each(&inner["items"], path);
            } else if is_own {
                lines.insert(format!("impl {} for {path}{}", text(&inner["trait"]), text(&inner["generics"])));
            }
            return;
        }
        _ => {}
    }
    if let "struct" | "enum" | "union" | "trait" = kind.as_str() {
        for key in ["variants", "items", "impls"] {
            each(&inner[key], &path);
        }
        each(&inner["kind"]["plain"]["fields"], &path);
        each(&inner["kind"]["tuple"], &path);
    }
    if kind == "variant" {
        each(&inner["kind"]["struct"]["fields"], &path);
        each(&inner["kind"]["tuple"], &path);
    }
    let grows = if told["attrs"].to_string().contains("non_exhaustive") { " non_exhaustive" } else { "" };
    let contents = ["variants", "items", "impls", "kind", "const", "discriminant", "has_stripped_variants"];
    let shape = match inner {
        Value::Object(inner) => {
            let kept = inner.iter().filter(|(key, _)| !contents.contains(&key.as_str()));
            text(&kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>().into())
        }
        other => text(other),
    };
    lines.insert(format!("{kind} {path}{shape}{grows}"));
}

/// A type, signature or bound in one line: keys and values, without numbers of items and what is not there.
fn text(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(false) => String::new(),
        Value::Bool(true) => " yes".to_owned(),
        Value::Number(number) => format!(" {number}"),
        Value::String(string) => format!(" {}", string.rsplit("::").next().unwrap_or(string)),
        Value::Array(all) if all.is_empty() => String::new(),
        Value::Array(all) => {
            format!(" ({})", all.iter().map(|one| text(one).trim().to_owned()).collect::<Vec<_>>().join(", "))
        }
        Value::Object(all) => {
            let parts = all.iter().filter(|(key, _)| !["id", "implementation", "abi"].contains(&key.as_str()));
            let parts = parts.map(|(key, value)| (key, text(value))).filter(|(_, text)| !text.is_empty());
            parts.map(|(key, text)| format!(" {key}{text}")).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(lines: &[&str]) -> BTreeSet<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn what_a_released_version_has_may_go_with_a_new_minor_version_alone() {
        let old = listing(&["version 0.3.0", "function a::f", "function a::g"]);
        let same = listing(&["version 0.3.1", "function a::f"]);
        assert!(broken(&old, &same, true).is_some_and(|error| error.contains("- function a::g")));
        assert!(broken(&old, &same, false).is_none());
        let next = listing(&["version 0.4.0", "function a::f"]);
        assert!(broken(&old, &next, true).is_none());
        let more = listing(&["version 0.3.1", "function a::f", "function a::g", "function a::h"]);
        assert!(broken(&old, &more, true).is_none());
    }

    #[test]
    fn a_signature_is_told_without_numbers_of_items() {
        let told = serde_json::json!({ "sig": { "inputs": [["self", { "generic": "Self" }]], "output": { "primitive": "u8" } }, "id": 7 });
        assert_eq!(text(&told), " sig inputs ((self, generic Self)) output primitive u8");
    }
}
