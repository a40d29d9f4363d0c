//! The names of functions: the linker's, and those that people write.

use std::fmt;

use cpp_demangle::DemangleOptions;

use super::shape;

/// The longest readable name in bytes. A mangled name may refer to its own parts, so that each part doubles the length.
const LONGEST: usize = 1 << 16;

/// The suffixes with which compilers mark versions and parts of a function, and whether a suffix may lack a number after it
/// (GCC: `clone_function_name`; LLVM: function specialization, ThinLTO's promotion, hot-cold splitting; Go: functions in assembly).
const CLONES: &[(&str, bool)] = &[
    ("__uniq", false),
    ("abi0", true),
    ("argprom", true),
    ("cold", true),
    ("constprop", false),
    ("isra", false),
    ("llvm", false),
    ("localalias", true),
    ("lto_priv", false),
    ("part", false),
    ("retelim", true),
    ("specialized", false),
];

/// The names of one symbol other than the linker's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Names {
    /// The readable name, if the linker's name is mangled.
    pub readable: Option<String>,
    /// Shorter names, which other symbols may share: without return type and parameters, without the arguments of templates and generics,
    /// without the suffixes of clones.
    pub shared: Vec<String>,
    /// If the symbol is a thunk, the names of the function that it jumps to.
    pub leads_to: Vec<String>,
}

impl Names {
    /// Returns the names of the symbol with a linker's name.
    pub fn of(name: &str) -> Names {
        let Parts { stem, clone, stub } = Parts::of(name);
        let mut names = Names { readable: demangle(name), ..Names::default() };
        if let Some(rust) = rust(stem) {
            names.shared = shape::plain(&rust);
        } else if let Some((kind, target)) = thunk(stem) {
            names.leads_to = instances(&target);
            names.leads_to.extend(cpp(&target, DemangleOptions::new()));
            names.shared = names.leads_to.iter().map(|form| format!("{kind}{form}")).collect();
        } else if is_cpp(stem) {
            names.shared = instances(stem);
        } else {
            names.shared = shape::without_type_arguments(stem);
        }
        if !clone.is_empty() {
            names.shared.insert(0, readable(stem).unwrap_or_else(|| stem.to_string()));
        }
        names.shared.iter_mut().chain(&mut names.leads_to).for_each(|form| form.push_str(stub));
        let own = names.readable.clone().unwrap_or_else(|| name.to_string());
        let mut known = vec![own];
        names.shared.retain(|form| {
            !known.contains(form) && {
                known.push(form.clone());
                true
            }
        });
        names
    }
}

/// Returns the readable form of a linker's name. `None` if the linker's name is readable.
pub fn demangle(name: &str) -> Option<String> {
    let Parts { stem, clone, stub } = Parts::of(name);
    readable(stem).map(|readable| format!("{readable}{}{stub}", clones_in_words(clone)))
}

/// The parts of a linker's name.
struct Parts<'a> {
    stem: &'a str,
    /// The suffixes of clones.
    clone: &'a str,
    /// The mark of a stub: `@plt`.
    stub: &'a str,
}

impl Parts<'_> {
    fn of(name: &str) -> Parts<'_> {
        let (name, stub) = name.find('@').map_or((name, ""), |at| name.split_at(at));
        let mut end = name.len();
        while let Some((start, word)) = last_part(&name[..end]) {
            let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit());
            match last_part(&name[..start]) {
                _ if CLONES.contains(&(word, true)) => end = start,
                Some((start, word)) if is_number && CLONES.iter().any(|(known, _)| *known == word) => end = start,
                _ => break,
            }
        }
        let (stem, clone) = name.split_at(end);
        Parts { stem, clone, stub }
    }
}

/// Returns the part after the last point of a name, and the position of the point.
fn last_part(name: &str) -> Option<(usize, &str)> {
    let at = name.rfind('.').filter(|&at| at > 0)?;
    Some((at, &name[at + 1..]))
}

fn readable(stem: &str) -> Option<String> {
    rust(stem).or_else(|| cpp(stem, DemangleOptions::new()))
}

fn rust(name: &str) -> Option<String> {
    let may_be = ["_R", "__R", "_ZN", "__ZN"].iter().any(|start| name.starts_with(start));
    let symbol = may_be.then(|| rustc_demangle::try_demangle(name).ok())??;
    bounded(|out| fmt::Write::write_fmt(out, format_args!("{symbol:#}")))
}

fn is_cpp(name: &str) -> bool {
    name.starts_with("_Z") || name.starts_with("__Z")
}

fn cpp(name: &str, options: DemangleOptions) -> Option<String> {
    if !is_cpp(name) {
        return None;
    }
    if let Some((kind, target)) = thunk(name) {
        return cpp(&target, options).map(|target| format!("{kind}{target}"));
    }
    let (stem, suffix) = unsuffixed(name);
    let symbol = cpp_demangle::Symbol::new(stem).ok()?;
    let text = bounded(|out| symbol.structured_demangle(out, &options))?;
    Some(format!("{text}{}", clones_in_words(suffix)))
}

/// Returns the shorter names of a C++ function, the most specific first.
fn instances(name: &str) -> Vec<String> {
    let (stem, _) = unsuffixed(name);
    let Some(without_return) = cpp(stem, DemangleOptions::new().no_return_type()) else { return Vec::new() };
    let short = cpp(stem, DemangleOptions::new().no_return_type().no_params());
    let (untagged, plain) = (shape::without_tags(&without_return), shape::plain(&without_return));
    short.into_iter().chain([without_return]).chain(untagged).chain(plain).collect()
}

/// Splits a mangled C++ name from a suffix that [`CLONES`] does not list. Mangled names contain no point.
fn unsuffixed(name: &str) -> (&str, &str) {
    name.find('.').map_or((name, ""), |at| name.split_at(at))
}

/// Returns the kind of a thunk in words, and the mangled name of the function that it jumps to (Itanium C++ ABI, 5.1.4.2).
fn thunk(name: &str) -> Option<(&'static str, String)> {
    let special = name.trim_start_matches('_').strip_prefix("ZT")?;
    let (kind, encoding) = match special.split_at_checked(1)? {
        ("h", rest) => ("non-virtual thunk to ", offset(rest, 1)?),
        ("v", rest) => ("virtual thunk to ", offset(rest, 2)?),
        ("c", rest) => ("covariant return thunk to ", call_offset(call_offset(rest)?)?),
        _ => return None,
    };
    // A thunk jumps to a function and never to a special symbol.
    (!encoding.starts_with('T')).then(|| (kind, format!("_Z{encoding}")))
}

fn call_offset(text: &str) -> Option<&str> {
    match text.split_at_checked(1)? {
        ("h", rest) => offset(rest, 1),
        ("v", rest) => offset(rest, 2),
        _ => None,
    }
}

/// Returns the text after `numbers` numbers, each with an underscore after it.
fn offset(text: &str, numbers: usize) -> Option<&str> {
    (0..numbers).try_fold(text, |text, _| {
        let (number, rest) = text.split_once('_')?;
        let digits = number.strip_prefix('n').unwrap_or(number);
        (!digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())).then_some(rest)
    })
}

/// Returns the suffixes of clones in the form of binutils: ` [clone .constprop.0]`.
fn clones_in_words(suffix: &str) -> String {
    let mut groups: Vec<String> = Vec::new();
    for part in suffix.split('.').skip(1) {
        match groups.last_mut() {
            Some(group) if part.bytes().all(|byte| byte.is_ascii_digit()) => group.extend([".", part]),
            _ => groups.push(format!(".{part}")),
        }
    }
    groups.iter().map(|group| format!(" [clone {group}]")).collect()
}

/// Returns the text that `write` writes. `None` if it is longer than [`LONGEST`].
fn bounded(write: impl FnOnce(&mut Bounded) -> fmt::Result) -> Option<String> {
    let mut out = Bounded(String::new());
    write(&mut out).ok().map(|()| out.0)
}

struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rust_name_loses_its_hash() {
        assert_eq!(demangle("_ZN4core3fmt5write17h0123456789abcdefE").as_deref(), Some("core::fmt::write"));
    }

    #[test]
    fn a_c_name_has_no_other_form() {
        assert_eq!(Names::of("malloc"), Names::default());
    }

    /// Checks the readable name and the shared names of a symbol.
    #[track_caller]
    fn check(name: &str, readable: Option<&str>, shared: &[&str]) {
        let names = Names::of(name);
        assert_eq!(
            (names.readable.as_deref(), names.shared),
            (readable, shared.iter().map(|s| s.to_string()).collect()),
            "{name}"
        );
    }

    #[test]
    fn a_cpp_function_is_asked_for_with_and_without_parameters_arguments_and_tags() {
        check("_ZN2ns4Type3addEi", Some("ns::Type::add(int)"), &["ns::Type::add"]);
        check("_Z3getILb1EEiv", Some("int get<true>()"), &["get<true>", "get<true>()", "get"]);
        check("_Z6taggedB5cxx11i", Some("tagged[abi:cxx11](int)"), &["tagged[abi:cxx11]", "tagged(int)", "tagged"]);
        check(
            "_ZN12_GLOBAL__N_16hiddenEi",
            Some("(anonymous namespace)::hidden(int)"),
            &["(anonymous namespace)::hidden"],
        );
        check("_ZN2FoixEi", Some("Fo::operator[](int)"), &["Fo::operator[]"]);
        check("_ZN2FonaEm", Some("Fo::operator new[](unsigned long)"), &["Fo::operator new[]"]);
    }

    #[test]
    fn clones_are_instances_of_their_function() {
        check("work.constprop.0", None, &["work"]);
        check("work.isra.0.cold", None, &["work"]);
        check("_Z4worki.part.0", Some("work(int) [clone .part.0]"), &["work(int)", "work"]);
        check("_Z4worki.avx2.0", Some("work(int) [clone .avx2.0]"), &["work", "work(int)"]);
        // Functions of Go's package main.
        for name in ["main.work", "main.part", "main.main.func1", ".cold"] {
            check(name, None, &[]);
        }
    }

    #[test]
    fn a_thunk_is_distinguished_from_the_function_that_it_jumps_to() {
        let names = Names::of("_ZThn16_N1B1fEv");
        assert_eq!(names.readable.as_deref(), Some("non-virtual thunk to B::f()"));
        assert_eq!(names.shared, ["non-virtual thunk to B::f"]);
        assert_eq!(names.leads_to, ["B::f", "B::f()", "B::f", "B::f()"]);
        assert_eq!(demangle("_ZTv0_n24_N1B1fEv").as_deref(), Some("virtual thunk to B::f()"));
        assert_eq!(demangle("_ZTchn8_h16_N1B1fEv").as_deref(), Some("covariant return thunk to B::f()"));
    }

    #[test]
    fn a_stub_is_named_by_its_function() {
        check("_ZN2ns4Type3addEi@plt", Some("ns::Type::add(int)@plt"), &["ns::Type::add@plt"]);
    }

    #[test]
    fn a_name_that_doubles_itself_over_and_over_is_left_as_it_is() {
        // P<A,A>, P<that,that>, …: each substitution refers to the part before it.
        let mut name = String::from("_Z1f1PI1AS0_E");
        for round in 0..60u32 {
            let digit = |n: u32| char::from_digit(n, 36).unwrap().to_ascii_uppercase();
            let number = if round < 36 { digit(round).to_string() } else { format!("1{}", digit(round - 36)) };
            name.push_str(&format!("S_IS{number}_S{number}_E"));
        }
        assert!(demangle(&name).is_none_or(|readable| readable.len() <= LONGEST + 64));
    }
}
