//! Which file of a crate imports from which: every path in its code leads to the file that declares the last name of it.

use std::collections::BTreeSet;

use super::modules::{Crate, Module, Use};

/// The longest chain of re-exports that is followed.
const MOST_STEPS: usize = 16;

/// For each file of the crate the files that it imports from, by index. Code of tests is left out.
pub(super) fn imports(read: &Crate) -> Vec<BTreeSet<usize>> {
    let mut edges = vec![BTreeSet::new(); read.files.len()];
    for (index, module) in read.modules.iter().enumerate() {
        let used = module.uses.iter().filter(|one| is_used(module, one)).map(|one| &one.path);
        // One word in an expression is a variable, even if a module has the same name.
        let paths = module.paths.iter().filter(|path| path.len() > 1 || !module.children.contains_key(&path.concat()));
        for path in used.chain(paths) {
            for target in resolve(read, index, path, MOST_STEPS) {
                edges[module.file].insert(read.modules[target].file);
            }
        }
        edges[module.file].remove(&module.file);
    }
    edges
}

/// Whether a module's own code depends on a name that it brings in: one that it only passes on does not count.
fn is_used(module: &Module, one: &Use) -> bool {
    !one.is_public || one.name.as_ref().is_some_and(|name| module.words.contains(name))
}

/// The modules that declare what `path` names in the module `from`; none for what another crate declares.
fn resolve(read: &Crate, from: usize, path: &[String], steps: usize) -> BTreeSet<usize> {
    let Some((first, rest)) = path.split_first() else { return BTreeSet::new() };
    let module = &read.modules[from];
    match first.as_str() {
        _ if steps == 0 => BTreeSet::new(),
        // The visibility `pub(crate)` in the tokens of a macro.
        "crate" | "super" if rest.is_empty() => BTreeSet::new(),
        "crate" => below(read, 0, rest, steps - 1),
        "self" => below(read, from, rest, steps - 1),
        "super" => below(read, module.parent, rest, steps - 1),
        name if module.children.contains_key(name) => below(read, from, path, steps - 1),
        name => {
            let mut used = module.uses.iter().filter(|one| one.name.as_deref() == Some(name));
            // A name that is imported by itself, as another crate's.
            let used = used.find(|one| one.path.first().map(String::as_str) != Some(name));
            used.map(|one| resolve(read, from, &[&one.path, rest].concat(), steps - 1)).unwrap_or_default()
        }
    }
}

/// The modules that declare what `path` names below the module `at`.
fn below(read: &Crate, at: usize, path: &[String], steps: usize) -> BTreeSet<usize> {
    let Some((first, rest)) = path.split_first() else { return BTreeSet::from([at]) };
    let module = &read.modules[at];
    if steps == 0 {
        return BTreeSet::from([at]);
    }
    if first == "super" {
        return below(read, module.parent, rest, steps - 1);
    }
    if let Some(children) = module.children.get(first) {
        return children.iter().flat_map(|child| below(read, *child, rest, steps - 1)).collect();
    }
    if module.items.contains(first) {
        return BTreeSet::from([at]);
    }
    if let Some(used) = module.uses.iter().find(|one| one.name.as_ref() == Some(first)) {
        return resolve(read, at, &[&used.path, rest].concat(), steps - 1);
    }
    let globs = module.uses.iter().filter(|one| one.name.is_none());
    let globs = globs.flat_map(|one| resolve(read, at, &one.path, steps - 1));
    let owner = globs.into_iter().find(|target| *target != at && declares(&read.modules[*target], first));
    owner.map_or(BTreeSet::from([at]), |target| below(read, target, path, steps - 1))
}

fn declares(module: &Module, name: &str) -> bool {
    module.items.contains(name)
        || module.children.contains_key(name)
        || module.uses.iter().any(|one| one.name.as_deref() == Some(name))
}
