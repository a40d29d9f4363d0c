//! Arguments of cargo that build some test programs of the checkout and no others.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::program::matches;
use crate::run;

/// The arguments of `cargo test` that select the programs whose main source file matches one of the patterns, and all examples, which tests
/// of the examples run. Cargo applies each argument to every selected package, so the unit tests of some more libraries are built.
pub(crate) fn arguments(patterns: &[&str]) -> Result<Vec<String>> {
    let metadata = run::output(&mut run::cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo's metadata")?;
    Ok(selected(&metadata, &run::root(), patterns))
}

fn selected(metadata: &Value, root: &Path, patterns: &[&str]) -> Vec<String> {
    let mut arguments = BTreeSet::new();
    for package in values(&metadata["packages"]) {
        for target in values(&package["targets"]) {
            let name = target["src_path"].as_str().and_then(|path| Path::new(path).strip_prefix(root).ok());
            let name = name.and_then(Path::to_str).unwrap_or_default();
            if !patterns.iter().any(|pattern| matches(name, pattern)) {
                continue;
            }
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            match target["kind"][0].as_str() {
                Some("lib") => arguments.insert("--lib".to_owned()),
                Some("test") => arguments.insert(format!("--test={}", text(&target["name"]))),
                Some("bin") => arguments.insert(format!("--bin={}", text(&target["name"]))),
                _ => continue,
            };
            arguments.insert(format!("--package={}", text(&package["name"])));
        }
    }
    arguments.insert("--examples".to_owned());
    arguments.into_iter().collect()
}

fn values(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn programs_are_selected_by_their_source_and_their_package_with_them() {
        let target = |kind: &str, name: &str, path: &str| json!({ "kind": [kind], "name": name, "src_path": format!("/here/{path}") });
        let metadata = json!({ "packages": [
            { "name": "a", "targets": [target("lib", "a", "a/src/lib.rs"), target("test", "x", "a/tests/x.rs")] },
            { "name": "b", "targets": [target("test", "y", "b/tests/y.rs"), target("example", "e", "b/examples/e.rs")] },
            { "name": "c", "targets": [target("bin", "c", "c/src/main.rs"), target("test", "z", "c/tests/z.rs")] },
        ] });
        let selected = |patterns: &[&str]| selected(&metadata, "/here".as_ref(), patterns);
        assert_eq!(selected(&["a/*"]), ["--examples", "--lib", "--package=a", "--test=x"]);
        assert_eq!(selected(&["b/*", "c/src/*"]), ["--bin=c", "--examples", "--package=b", "--package=c", "--test=y"]);
    }
}
