//! The parts of readable names: paths, arguments of templates and generics, parameters, tags.

/// Returns a readable name of any language without types, parameters and tags.
pub fn short_names(readable: &str) -> Vec<String> {
    let mut names = without_type_arguments(readable);
    for name in plain(readable) {
        // The name of a C++ template function begins with its return type.
        match name.rsplit_once(' ') {
            Some((before, name)) if !before.ends_with("operator") && !before.ends_with("(anonymous") => {
                names.push(name.to_string());
            }
            _ => names.push(name),
        }
    }
    names
}

/// Returns the forms of a readable C++ or Rust name that all its instances share: without the arguments of templates and generics, without
/// parameters, and without tags. A Rust method also has the forms with only its type or only its trait before it.
pub(super) fn plain(name: &str) -> Vec<String> {
    let Some((qualified, method)) = qualified(name) else { return path(name).into_iter().collect() };
    let Some(method) = path(method) else { return Vec::new() };
    let mut forms = Vec::new();
    let plain_type = path(qualified.of);
    let plain_trait = qualified.by.map(path);
    match (&plain_type, &plain_trait) {
        (Some(of), Some(Some(by))) => forms.push(format!("<{of} as {by}>{method}")),
        (Some(of), None) => forms.push(format!("<{of}>{method}")),
        _ => {}
    }
    let names_something = |path: &String| path.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let alone = plain_type.into_iter().chain(plain_trait.flatten()).filter(names_something);
    forms.extend(alone.map(|path| format!("{path}{method}")));
    forms
}

/// Returns the forms of a name whose type arguments are in brackets, as Go's linker writes them: with `[...]`, and without arguments.
pub(super) fn without_type_arguments(name: &str) -> Vec<String> {
    if !name.contains('[') {
        return Vec::new();
    }
    let (mut elided, mut plain) = (String::new(), String::new());
    let mut rest = name;
    while let Some(at) = rest.find('[') {
        let (before, from) = rest.split_at(at);
        let Some(end) = balanced(from) else { return Vec::new() };
        elided.extend([before, "[...]"]);
        plain.push_str(before);
        rest = &from[end..];
    }
    elided.push_str(rest);
    plain.push_str(rest);
    if plain.is_empty() { vec![elided] } else { vec![elided, plain] }
}

/// Returns a C++ name without its ABI tags. `None` if it has none.
pub(super) fn without_tags(name: &str) -> Option<String> {
    const TAG: &str = "[abi:";
    let mut parts = name.split(TAG);
    let mut plain = parts.next()?.to_string();
    for part in parts {
        plain.push_str(part.split_once(']')?.1);
    }
    (plain != name).then_some(plain)
}

/// The parts in the brackets at the start of `<Type as Trait>::method`.
struct Qualified<'a> {
    of: &'a str,
    by: Option<&'a str>,
}

fn qualified(name: &str) -> Option<(Qualified<'_>, &str)> {
    if !name.starts_with('<') {
        return None;
    }
    let end = balanced(name)?;
    let inside = &name[1..end - 1];
    let mut at = 0;
    while at < inside.len() {
        let rest = &inside[at..];
        if let Some(by) = rest.strip_prefix(" as ") {
            return Some((Qualified { of: &inside[..at], by: Some(by) }, &name[end..]));
        }
        at += step(rest)?;
    }
    Some((Qualified { of: inside, by: None }, &name[end..]))
}

/// Returns a path without arguments, parameters and tags. `None` if brackets do not match.
fn path(name: &str) -> Option<String> {
    let mut out = String::new();
    let mut at = 0;
    while at < name.len() {
        let rest = &name[at..];
        let length = step(rest)?;
        let part = &rest[..length];
        at += length;
        let inherent = part.starts_with("<impl ");
        match part.as_bytes().first() {
            Some(b'<') if !out.is_empty() && !inherent => {
                // The colons of `path::<argument>` belong to the argument.
                let kept = out.strip_suffix("::").unwrap_or(out.trim_end()).len();
                out.truncate(kept);
            }
            Some(b'[') if part.starts_with("[abi:") || part.starts_with("[clone ") => {
                out.truncate(out.trim_end().len())
            }
            Some(b'(') if part != "(anonymous namespace)" && !out.is_empty() => {
                // Qualifiers or the name of a local item follow the parameters.
                let local = name[at..].find("::").filter(|colons| is_qualifiers(&name[at..at + colons]));
                at = local.map_or(name.len(), |colons| at + colons);
            }
            _ => out.push_str(part),
        }
    }
    Some(out)
}

/// Whether a text may be between the parameters of a function and the name of a local item.
fn is_qualifiers(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b' ' | b'&')) || text.starts_with(" [")
}

/// Returns the length of the first part of a name: a bracket with its content, an operator, a word, or one character.
pub(super) fn step(name: &str) -> Option<usize> {
    if name.starts_with("->") || name.starts_with("=>") {
        return Some(2);
    }
    if name.starts_with(['<', '(', '[', '{']) {
        return balanced(name);
    }
    let word = name.find(|c: char| !is_word(c)).unwrap_or(name.len());
    match &name[..word] {
        "" => name.chars().next().map(char::len_utf8),
        "operator" => Some(word + operator(&name[word..])),
        _ => Some(word),
    }
}

/// Returns the length of the text after the word `operator` that names the operator: its signs, or a type or word up to the parameters.
fn operator(rest: &str) -> usize {
    for signs in ["()", "[]", "<=>", "->*", "->", "<<=", ">>=", "<<", ">>", "<=", ">=", "<", ">"] {
        if rest.starts_with(signs) {
            return signs.len();
        }
    }
    if rest.starts_with(' ') || rest.starts_with('"') {
        return rest.find(['(', '<']).unwrap_or(rest.len());
    }
    rest.find(|c: char| !"+-*/%^&|~!=,".contains(c)).unwrap_or(rest.len())
}

/// Returns the length of a bracket with its content at the start of a name. `None` if the bracket does not end.
fn balanced(name: &str) -> Option<usize> {
    // The stack is on the heap, since the names of a hostile file may nest deeply.
    let mut open = Vec::new();
    let mut at = 0;
    while at < name.len() {
        let rest = &name[at..];
        let first = rest.chars().next()?;
        match first {
            '<' | '(' | '[' | '{' => open.push(closing(first)),
            '-' | '=' if rest[1..].starts_with('>') => at += 1,
            'o' if rest.starts_with("operator") && !name[..at].ends_with(is_word) => {
                at += "operator".len() + operator(&rest["operator".len()..]);
                continue;
            }
            // In parentheses, less and greater are operators of an expression.
            '>' if open.last() != Some(&'>') => {}
            '>' | ')' | ']' | '}' => {
                while open.pop()? != first {}
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += first.len_utf8();
    }
    None
}

fn closing(bracket: char) -> char {
    match bracket {
        '<' => '>',
        '(' => ')',
        '[' => ']',
        _ => '}',
    }
}

/// Whether a character belongs to a word of a name.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_loses_arguments_parameters_and_tags() {
        for (name, expected) in [
            ("r::app::foo::<usize>", "r::app::foo"),
            ("r::app::foo::<usize>::{closure#0}", "r::app::foo::{closure#0}"),
            ("core::ptr::drop_in_place::<fn(u8) -> alloc::vec::Vec<u8>>", "core::ptr::drop_in_place"),
            (
                "core::fmt::num::<impl core::fmt::Debug for usize>::fmt",
                "core::fmt::num::<impl core::fmt::Debug for usize>::fmt",
            ),
            ("std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector::push_back"),
            ("main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"),
            ("foo(int) const::Local::f()", "foo::Local::f"),
            ("operator< <int>(A<int> const&)", "operator<"),
            ("A::operator->() const", "A::operator->"),
            ("A::operator<=>(A const&) const", "A::operator<=>"),
            ("std::ostream& std::operator<< <char>(int)", "std::ostream& std::operator<<"),
            ("f<(a)>(b)>(int)", "f"),
            ("g<&(A::operator>(A))>(int)", "g"),
        ] {
            assert_eq!(plain(name), [expected], "{name}");
        }
    }

    #[test]
    fn a_rust_method_is_found_by_its_type_and_by_its_trait() {
        assert_eq!(plain("<u32 as r::Tr>::go"), ["<u32 as r::Tr>::go", "u32::go", "r::Tr::go"]);
        assert_eq!(plain("<r::app::W<u64>>::take"), ["<r::app::W>::take", "r::app::W::take"]);
        assert_eq!(plain("<[T] as r::Tr<A, B>>::go::<C>"), ["<[T] as r::Tr>::go", "r::Tr::go"]);
        assert_eq!(plain("<<T as r::X>::Y as r::Tr>::go"), ["<<T as r::X>::Y as r::Tr>::go", "r::Tr::go"]);
    }

    #[test]
    fn a_bracket_that_does_not_end_gives_no_other_form() {
        for name in ["f<", "<u32 as", "f({", "<", "a::<b"] {
            assert_eq!(plain(name), [""; 0], "{name}");
        }
    }

    #[test]
    fn type_arguments_of_go_are_elided_and_left_out() {
        assert_eq!(without_type_arguments("main.Map[go.shape.int]"), ["main.Map[...]", "main.Map"]);
        assert_eq!(
            without_type_arguments("main.(*List[go.shape.[]int]).Push"),
            ["main.(*List[...]).Push", "main.(*List).Push"]
        );
        assert_eq!(without_type_arguments("main.work"), [""; 0]);
    }
}
