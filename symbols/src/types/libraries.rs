//! Strings, vectors and slices of the languages' libraries, known by their names and members.

use super::model::{Language, Length, Member, Sequence, Shape, Type, TypeId};

/// The first member of this name in a structure or in its members, and its offset.
fn find<'a>(members: &'a [Member], name: &str) -> Option<(u64, &'a Type)> {
    members.iter().find_map(|member| {
        if member.name == name {
            return Some((member.offset, &*member.kind));
        }
        match &member.kind.shape {
            Shape::Structure(inner) if !inner.union => {
                find(&inner.members, name).map(|(offset, kind)| (member.offset.wrapping_add(offset), kind))
            }
            _ => None,
        }
    })
}

/// The first pointer in a structure or in its members.
fn first_pointer(members: &[Member]) -> Option<u64> {
    members.iter().find_map(|member| match &member.kind.shape {
        Shape::Pointer { .. } => Some(member.offset),
        Shape::Structure(inner) => first_pointer(&inner.members).map(|offset| member.offset.wrapping_add(offset)),
        _ => None,
    })
}

fn target(kind: &Type) -> Option<TypeId> {
    match kind.shape {
        Shape::Pointer { target, .. } => target,
        _ => None,
    }
}

/// The sequence that a structure of this name with these members is. `parameter` is the type for which the first parameter of its template stands.
pub(super) fn sequence(
    language: Language,
    name: &str,
    size: u64,
    members: &[Member],
    parameter: Option<TypeId>,
) -> Option<Sequence> {
    let at = |name| find(members, name);
    let (start, length, element, by_address) = match language {
        Language::C if name.starts_with("basic_string<char,") => {
            let start = at("_M_p")?.0;
            let length = at("_M_string_length").map(|(offset, _)| Length::At(offset));
            // The reference-counted string is one pointer. Its length lies in a header of 24 bytes before the text.
            (start, length.or((size == 8).then_some(Length::Before(24)))?, None, true)
        }
        Language::C if name.starts_with("basic_string_view<char,") => {
            (at("_M_str")?.0, Length::At(at("_M_len")?.0), None, false)
        }
        Language::C if name.starts_with("vector<") && !name.starts_with("vector<bool") => {
            let (start, first) = at("_M_start")?;
            (start, Length::End(at("_M_finish")?.0), Some(target(first)?), true)
        }
        Language::Rust if name == "&str" || name == "&mut str" => {
            (at("data_ptr")?.0, Length::At(at("length")?.0), None, false)
        }
        Language::Rust if name.starts_with("&[") || name.starts_with("&mut [") => {
            let (start, first) = at("data_ptr")?;
            (start, Length::At(at("length")?.0), Some(target(first)?), false)
        }
        // A string is a vector of bytes.
        Language::Rust if name == "String" => {
            let [Member { offset: 0, kind, .. }] = members else { return None };
            let Shape::Sequence(bytes) = &kind.shape else { return None };
            (bytes.start, bytes.length, None, false)
        }
        Language::Rust if name.starts_with("Vec<") => {
            (first_pointer(members)?, Length::At(at("len")?.0), Some(parameter?), false)
        }
        Language::Go if name == "string" => (at("str")?.0, Length::At(at("len")?.0), None, false),
        Language::Go if name.starts_with("[]") => {
            let (start, first) = at("array")?;
            (start, Length::At(at("len")?.0), Some(target(first)?), false)
        }
        _ => return None,
    };
    Some(Sequence { start, length, element, by_address })
}
