//! The functions that the module's C and Rust call of each other: both sides declare them, and the declarations have to agree.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::run;

/// What C declares, for both sides.
const HEADER: &str = "kmod/src/shim.h";

/// The parameters of a function and its result, each as C's name of a number or as a kind of pointer.
type Signature = (Vec<String>, String);

/// Fails where Rust declares or defines a function of the module in another way than C.
pub(crate) fn check() -> Result<()> {
    let root = run::root();
    let header = fs::read_to_string(root.join(HEADER)).with_context(|| format!("cannot read {HEADER}"))?;
    let c = of_c(&header);
    let listed = run::output(std::process::Command::new("git").args(["ls-files", "kmod/*.rs"]).current_dir(&root))?;
    for file in listed.lines().map(Path::new).filter(|file| root.join(file).exists()) {
        let text = fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {}", file.display()))?;
        for (name, rust) in of_rust(&text) {
            match c.get(&name) {
                None => bail!("{} has {name}, which {HEADER} does not declare", file.display()),
                Some(c) if *c != rust => bail!("{name} is {rust:?} in {}, and {c:?} in {HEADER}", file.display()),
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// The functions of a header by their names.
fn of_c(header: &str) -> BTreeMap<String, Signature> {
    let mut text = String::new();
    for (number, part) in header.split("/*").enumerate() {
        text.push_str(if number == 0 { part } else { part.split_once("*/").map_or("", |(_, behind)| behind) });
    }
    let code: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let mut functions = BTreeMap::new();
    for statement in code.join(" ").split(';') {
        let Some((before, parameters)) = statement.split_once('(') else { continue };
        let before = before.trim_end();
        let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |end| end + 1);
        let (result, name) = before.split_at(start);
        let parameters = parameters.trim_end().strip_suffix(')').unwrap_or(parameters);
        let kinds = split(parameters).into_iter().map(|parameter| c_kind(&parameter, true));
        let kinds = kinds.filter(|kind| kind != "void").collect();
        functions.insert(name.to_owned(), (kinds, c_kind(result, false)));
    }
    functions
}

/// The kind of a type of C, which a name may follow.
fn c_kind(text: &str, is_named: bool) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let count = if is_named && words.len() > 1 { words.len() - 1 } else { words.len() };
    match () {
        () if text.contains("(*") => "function".into(),
        () if text.contains('*') => "pointer".into(),
        () => words[..count].join(" "),
    }
}

/// The functions of the module that a file of Rust declares or defines for C, by their names.
fn of_rust(text: &str) -> Vec<(String, Signature)> {
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join(" ");
    let mut functions = Vec::new();
    for (at, _) in code.match_indices("fn ntrace_") {
        let Some((name, rest)) = code[at + "fn ".len()..].split_once('(') else { continue };
        let end = closing(rest);
        let behind = rest[end..].trim_start_matches(')').trim_start();
        let result = behind.strip_prefix("->").map_or("()", |result| result.split([';', '{']).next().unwrap_or(""));
        let types = split(&rest[..end]);
        let kinds = types.iter().map(|parameter| rust_kind(parameter.split_once(':').map_or("", |(_, kind)| kind)));
        functions.push((name.to_owned(), (kinds.collect(), rust_kind(result))));
    }
    functions
}

/// The kind of a type of Rust, by C's name where it is a number.
fn rust_kind(text: &str) -> String {
    let name = match text.trim() {
        "()" => "void",
        "c_int" => "int",
        "c_long" => "long",
        "c_ulong" => "unsigned long",
        "usize" => "size_t",
        "isize" => "ssize_t",
        "u32" => "__poll_t",
        text if text.starts_with(['*', '&']) => "pointer",
        text if text.contains("fn(") => "function",
        text => text,
    };
    name.to_owned()
}

/// Where the parenthesis ends in which a text begins.
fn closing(text: &str) -> usize {
    let mut depth = 1;
    for (at, byte) in text.bytes().enumerate() {
        depth += match byte {
            b'(' => 1,
            b')' => -1,
            _ => 0,
        };
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Parameters, which commas part that lie in no parenthesis.
fn split(parameters: &str) -> Vec<String> {
    let (mut all, mut depth) = (vec![String::new()], 0);
    for c in parameters.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            all.push(String::new());
        } else if let Some(last) = all.last_mut() {
            last.push(c);
        }
    }
    all.retain(|parameter| !parameter.trim().is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_that_agree_have_one_signature() {
        let c = of_c(
            "#include <x.h>\n/* a; b(int c); */\nstruct a;\nlong ntrace_a(struct mm_struct *mm, unsigned long at,\n\tbool b);\n\
             void ntrace_b(void (*look)(struct pt_regs *r, void *data), void *data);\nvoid *ntrace_c(void);\n",
        );
        let rust = of_rust(
            "fn ntrace_a(mm: *const Mm, at: c_ulong, b: bool) -> c_long; // fn ntrace_x()\n fn ntrace_b(\n look: unsafe \
             extern \"C\" fn(*mut R, *mut c_void),\n data: *mut c_void,\n);\nfn ntrace_c() -> *mut c_void {",
        );
        assert_eq!(rust.len(), 3);
        for (name, signature) in rust {
            assert_eq!(c.get(&name), Some(&signature), "{name}");
        }
    }

    #[test]
    fn a_number_of_another_size_is_another_signature() {
        let c = of_c("int ntrace_a(size_t size);");
        let rust = of_rust("fn ntrace_a(size: c_int) -> c_int;");
        assert_ne!(c["ntrace_a"], rust[0].1);
    }

    #[test]
    fn the_module_s_own_declarations_agree() {
        check().unwrap();
    }
}
