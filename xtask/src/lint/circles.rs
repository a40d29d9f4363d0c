//! Circles of imports between the files of a crate: files that can only be understood together.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};

use super::imports::imports;
use super::modules::Crate;

/// The root file of each crate, and the most files that a circle in it may have.
const LIMITS: [(&str, usize); 15] = [
    ("insn/src/lib.rs", 1),
    ("insn/gen/src/main.rs", 3),
    ("stepping/src/lib.rs", 1),
    ("trampoline/src/lib.rs", 1),
    ("wire/src/lib.rs", 1),
    ("record/src/lib.rs", 1),
    ("ubp/src/lib.rs", 1),
    ("symbols/src/lib.rs", 1),
    ("cli/src/lib.rs", 1),
    ("kmod/src/main.rs", 5),
    ("kmod/fastpath/lib.rs", 1),
    ("tests/src/lib.rs", 3),
    ("fuzz/claims/src/lib.rs", 1),
    ("bench/src/main.rs", 1),
    ("xtask/src/main.rs", 1),
];

/// A file of a circle, and the others of it that the file imports from.
type Member = (String, Vec<String>);

/// Fails where a circle is larger than its crate's limit, and names its files with what they import from each other.
pub(super) fn check(root: &Path) -> Result<()> {
    let mut wrong = Vec::new();
    for (file, limit) in LIMITS {
        for circle in circles(root, file)?.iter().filter(|circle| circle.len() > limit) {
            wrong.push(format!("{file}: a circle of {} files, where {limit} are allowed:", circle.len()));
            wrong.extend(circle.iter().map(|(name, imported)| format!("    {name} <- {}", imported.join(", "))));
        }
    }
    if !wrong.is_empty() {
        bail!("circles of imports, each file with those of its circle that it imports from:\n{}", wrong.join("\n"));
    }
    Ok(())
}

/// The circles of the crate whose root is `file` below `root`, the largest first.
fn circles(root: &Path, file: &str) -> Result<Vec<Vec<Member>>> {
    let read = Crate::read(&root.join(file))?;
    let edges = imports(&read);
    let name = |index: &usize| {
        let path = &read.files[*index];
        path.strip_prefix(root).unwrap_or(path).display().to_string()
    };
    let mut circles: Vec<Vec<Member>> = components(&edges)
        .iter()
        .filter(|component| component.len() > 1)
        .map(|component| {
            let member = |index: &usize| (name(index), edges[*index].intersection(component).map(name).collect());
            component.iter().map(member).collect()
        })
        .collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    Ok(circles)
}

/// The strongly connected components of a graph, given by the successors of each node.
fn components(edges: &[BTreeSet<usize>]) -> Vec<BTreeSet<usize>> {
    let reached: Vec<BTreeSet<usize>> = (0..edges.len()).map(|node| reachable(edges, node)).collect();
    let mut components = Vec::new();
    let mut done: BTreeSet<usize> = BTreeSet::new();
    for node in 0..edges.len() {
        if done.contains(&node) {
            continue;
        }
        let mutual = reached[node].iter().filter(|other| reached[**other].contains(&node));
        let component: BTreeSet<usize> = mutual.copied().chain([node]).collect();
        done.extend(&component);
        components.push(component);
    }
    components
}

/// The nodes that a path of one edge or more leads to.
fn reachable(edges: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<usize> = edges[from].iter().copied().collect();
    while let Some(node) = next.pop() {
        if reached.insert(node) {
            next.extend(&edges[node]);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Writes a crate of these files, and returns its circles.
    fn circles_of(name: &str, files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let root = std::env::temp_dir().join(format!("ntrace-circles-{}-{name}", std::process::id()));
        for (file, text) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let circles = circles(&root, files[0].0).unwrap();
        fs::remove_dir_all(&root).unwrap();
        let names = |circle: Vec<Member>| {
            let mut names: Vec<String> = circle.into_iter().map(|(name, _)| name).collect();
            names.sort();
            names
        };
        circles.into_iter().map(names).collect()
    }

    #[test]
    fn a_circle_is_found_through_uses_re_exports_macros_and_inline_paths() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d; pub use a::A;"),
            ("a/mod.rs", "mod deep; use crate::b::{self, B}; pub struct A; fn f() { b::f(); deep::g() }"),
            ("a/deep.rs", "pub fn g() {}"),
            ("b.rs", "pub struct B; pub fn f() { println!(\"{}\", crate::c::C) }"),
            ("c.rs", "pub const C: u8 = 0; fn f(_: crate::A) {}"),
            ("d.rs", "use crate::c::C; fn f() -> u8 { C }"),
        ];
        assert_eq!(circles_of("found", &files), [["a/mod.rs", "b.rs", "c.rs"]]);
    }

    #[test]
    fn tests_and_names_that_are_passed_on_make_no_circle() {
        let files = [
            ("lib.rs", "mod a; pub use a::A; pub struct B;"),
            ("a.rs", "use crate::B; pub struct A(B); #[cfg(test)] mod tests { use crate::C; }"),
        ];
        assert_eq!(circles_of("none", &files), Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_variable_with_the_name_of_a_module_makes_no_circle() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod page; pub struct A; fn f(page: u8) -> u8 { page }"),
            ("a/page.rs", "fn f(_: super::A) {}"),
        ];
        assert_eq!(circles_of("variable", &files), Vec::<Vec<String>>::new());
    }

    #[test]
    fn the_visibility_of_an_item_in_a_macro_makes_no_circle() {
        let files = [
            ("lib.rs", "mod a; fn f() { a::f() }"),
            ("a.rs", "macro_rules! all { () => { pub(crate) const A: u8 = 0; } } all!(); pub fn f() {}"),
        ];
        assert_eq!(circles_of("visibility", &files), Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_file_in_a_folder_of_another_name_is_found() {
        let files = [
            ("lib.rs", "#[path = \"x/mod.rs\"] mod native; mod a;"),
            ("x/mod.rs", "mod below; fn f() { below::f() }"),
            ("x/below.rs", "pub fn f() { crate::a::f() }"),
            ("a.rs", "pub fn f() { crate::native::f() }"),
        ];
        assert_eq!(circles_of("path", &files), [["a.rs", "x/below.rs", "x/mod.rs"]]);
    }
}
