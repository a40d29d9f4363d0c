//! What a declaration is, and what is made of it.

use crate::Kind;

/// A field of a message, as declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Word or blob.
    pub kind: Kind,
}

/// A command with its reply, or an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The number in its head.
    pub code: u16,
    /// Its name.
    pub name: &'static str,
    /// What it carries.
    pub fields: &'static [Parameter],
    /// What the reply carries behind status and detail; nothing for an event.
    pub reply: &'static [Parameter],
}

/// Lines of documentation of a declaration; apart from it, so that they are linked with the manual alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Documentation {
    /// Of the whole.
    pub lines: &'static [&'static str],
    /// Of each field.
    pub fields: &'static [&'static [&'static str]],
    /// Of each field of the reply.
    pub reply: &'static [&'static [&'static str]],
}

/// The type of a field.
macro_rules! value {
    ($lifetime:lifetime word) => {
        u64
    };
    ($lifetime:lifetime blob) => {
        &$lifetime[u8]
    };
}

/// The kind of a field.
macro_rules! kind {
    (word) => {
        $crate::Kind::Word
    };
    (blob) => {
        $crate::Kind::Blob
    };
}

/// A field of a value.
macro_rules! field {
    (word, $value:expr) => {
        $crate::Field::Word($value)
    };
    (blob, $value:expr) => {
        $crate::Field::Blob($value)
    };
}

/// The value of a field.
macro_rules! unfield {
    (word, $field:expr) => {
        $field.word()
    };
    (blob, $field:expr) => {
        $field.blob()
    };
}

/// The declared fields.
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
