//! Declarations of messages, and the macros that expand them.

use crate::Kind;

/// The declaration of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The field's name.
    pub name: &'static str,
    /// Word or blob.
    pub kind: Kind,
}

/// A command with its reply, or an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The code in the message's header.
    pub code: u16,
    /// The name of the command or event.
    pub name: &'static str,
    /// Fields of the command or event.
    pub fields: &'static [Parameter],
    /// Fields of the reply after status and detail; empty for an event.
    pub reply: &'static [Parameter],
}

/// The documentation of a declaration, in lines. It is apart from [`Declaration`], so that only the manual page links it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Documentation {
    /// Lines on the command or event.
    pub lines: &'static [&'static str],
    /// Lines on each field.
    pub fields: &'static [&'static [&'static str]],
    /// Lines on each field of the reply.
    pub reply: &'static [&'static [&'static str]],
}

/// The Rust type of a field.
macro_rules! value {
    ($lifetime:lifetime word) => {
        u64
    };
    ($lifetime:lifetime blob) => {
        &$lifetime[u8]
    };
}

/// The [`Kind`] of a field.
macro_rules! kind {
    (word) => {
        $crate::Kind::Word
    };
    (blob) => {
        $crate::Kind::Blob
    };
}

/// The [`Field`](crate::Field) that holds a value.
macro_rules! field {
    (word, $value:expr) => {
        $crate::Field::Word($value)
    };
    (blob, $value:expr) => {
        $crate::Field::Blob($value)
    };
}

/// The value in a [`Field`](crate::Field).
macro_rules! unfield {
    (word, $field:expr) => {
        $field.word()
    };
    (blob, $field:expr) => {
        $field.blob()
    };
}

/// The list of declared fields.
macro_rules! parameters {
    ($($name:ident: $kind:ident,)*) => {
        &[$($crate::Parameter { name: stringify!($name), kind: $crate::declare::kind!($kind) },)*]
    };
}

pub(crate) use {field, kind, parameters, unfield, value};

#[cfg(test)]
mod tests {
    extern crate std;
    use crate::{commands, events};
    use std::collections::BTreeSet;

    #[test]
    fn no_two_declarations_have_one_code_or_one_name() {
        for list in [commands::DECLARATIONS, events::DECLARATIONS] {
            let codes: BTreeSet<u16> = list.iter().map(|one| one.code).collect();
            let names: BTreeSet<&str> = list.iter().map(|one| one.name).collect();
            assert_eq!((codes.len(), names.len()), (list.len(), list.len()));
        }
        assert!(commands::DECLARATIONS.iter().all(|one| one.code < events::FIRST));
        assert!(events::DECLARATIONS.iter().all(|one| one.code >= events::FIRST));
    }

    #[test]
    fn every_declaration_and_every_field_is_documented() {
        for (list, documentation) in
            [(commands::DECLARATIONS, commands::DOCUMENTATION), (events::DECLARATIONS, events::DOCUMENTATION)]
        {
            assert_eq!(list.len(), documentation.len());
            for (one, documented) in list.iter().zip(documentation) {
                assert_eq!(
                    (one.fields.len(), one.reply.len()),
                    (documented.fields.len(), documented.reply.len()),
                    "{}",
                    one.name
                );
                assert!(!documented.lines.is_empty(), "{}", one.name);
                let mut fields = documented.fields.iter().chain(documented.reply);
                assert!(fields.all(|lines| !lines.is_empty()), "{}", one.name);
            }
        }
    }
}
