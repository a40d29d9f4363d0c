//! One value of a TOML file, with its place in the text.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::failure::{self, Failure};
use crate::output::shown;

/// The most bytes of a file.
const LONGEST: u64 = 1 << 20;

/// Reads a file, and what its text means.
///
/// # Errors
/// The file cannot be read, or `parse` fails. The message then names line and column.
pub(crate) fn read<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T, Wrong>) -> failure::Result<T> {
    let name = shown(path);
    let unreadable = |error: std::io::Error| Failure::own(format!("{name}: {error}"));
    if std::fs::metadata(path).map_err(unreadable)?.len() > LONGEST {
        return Err(Failure::usage(format!("{name}: the file is longer than {LONGEST} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    parse(&text).map_err(|wrong| Failure::usage(format!("{name}:{}", wrong.at(&text))))
}

/// Reads a text as TOML.
pub(crate) fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, Wrong> {
    DeTable::parse(text).map_err(|error| {
        let message = error.message().to_string();
        Wrong { span: error.span().unwrap_or_default(), message }
    })
}

/// An error in a TOML file, with its place.
#[derive(Debug)]
pub(crate) struct Wrong {
    /// The bytes of the text.
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
}

impl Wrong {
    /// The message with line and column, both from 1 on; the column counts characters.
    pub(crate) fn at(&self, text: &str) -> String {
        let before = text.get(..self.span.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("{line}:{column}: {}", self.message)
    }
}

/// A value or a table.
#[derive(Clone)]
pub(crate) struct Item<'a> {
    span: Range<usize>,
    content: Content<'a>,
}

#[derive(Clone, Copy)]
enum Content<'a> {
    Table(&'a DeTable<'a>),
    Value(&'a DeValue<'a>),
}

impl<'a> Item<'a> {
    pub(crate) fn of_table(table: &'a Spanned<DeTable<'a>>) -> Item<'a> {
        Item { span: table.span(), content: Content::Table(table.get_ref()) }
    }

    fn of_value(value: &'a Spanned<DeValue<'a>>) -> Item<'a> {
        let content = match value.get_ref() {
            DeValue::Table(table) => Content::Table(table),
            other => Content::Value(other),
        };
        Item { span: value.span(), content }
    }

    pub(crate) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    pub(crate) fn wrong(&self, message: impl Into<String>) -> Wrong {
        Wrong { span: self.span(), message: message.into() }
    }

    /// The table; an error for another value.
    fn table(&self) -> Result<&'a DeTable<'a>, Wrong> {
        match self.content {
            Content::Table(table) => Ok(table),
            Content::Value(_) => Err(self.wrong("a table is expected")),
        }
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.content, Content::Table(_))
    }

    /// Refuses a table with other keys than these.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Wrong> {
        match self.table()?.keys().find(|key| !known.contains(&key.get_ref().as_ref())) {
            Some(key) => {
                let message = format!("'{}' has no meaning here; there are {}", key.get_ref(), known.join(", "));
                Err(Wrong { span: key.span(), message })
            }
            None => Ok(()),
        }
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Result<Option<Item<'a>>, Wrong> {
        let found = self.table()?.iter().find(|(name, _)| name.get_ref().as_ref() == key);
        Ok(found.map(|(_, value)| Item::of_value(value)))
    }

    /// The keys of a table with their values, each key with its place.
    pub(crate) fn keys(&self) -> Result<Vec<(Item<'a>, &'a str, Item<'a>)>, Wrong> {
        let key = |(name, value): (&'a Spanned<toml::de::DeString<'a>>, &'a Spanned<DeValue<'a>>)| {
            (Item { span: name.span(), content: self.content }, name.get_ref().as_ref(), Item::of_value(value))
        };
        Ok(self.table()?.iter().map(key).collect())
    }

    /// The only key of a table, with its value.
    pub(crate) fn single(&self) -> Result<(&'a str, Item<'a>), Wrong> {
        let mut entries = self.table()?.iter();
        match (entries.next(), entries.next()) {
            (Some((name, value)), None) => Ok((name.get_ref().as_ref(), Item::of_value(value))),
            _ => Err(self.wrong("one key is expected")),
        }
    }

    /// The names and values of the table of a key; empty without it.
    pub(crate) fn entries(&self, key: &str) -> Result<Vec<(&'a str, Item<'a>)>, Wrong> {
        let Some(table) = self.get(key)? else { return Ok(Vec::new()) };
        let entries = table.table()?.iter();
        Ok(entries.map(|(name, value)| (name.get_ref().as_ref(), Item::of_value(value))).collect())
    }

    /// The values of the list of a key; empty without it.
    pub(crate) fn list(&self, key: &str) -> Result<Vec<Item<'a>>, Wrong> {
        self.get(key)?.map_or(Ok(Vec::new()), |item| item.values())
    }

    /// The values of a list.
    pub(crate) fn values(&self) -> Result<Vec<Item<'a>>, Wrong> {
        match self.content {
            Content::Value(DeValue::Array(values)) => Ok(values.iter().map(Item::of_value).collect()),
            _ => Err(self.wrong("a list is expected")),
        }
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self.content, Content::Value(DeValue::Array(_)))
    }

    pub(crate) fn text(&self) -> Result<&'a str, Wrong> {
        match self.content {
            Content::Value(DeValue::String(text)) => Ok(text),
            _ => Err(self.wrong("a text is expected")),
        }
    }

    pub(crate) fn boolean(&self) -> Result<bool, Wrong> {
        match self.content {
            Content::Value(DeValue::Boolean(value)) => Ok(*value),
            _ => Err(self.wrong("true or false is expected")),
        }
    }

    /// A number that fits in `T`.
    pub(crate) fn number<T: TryFrom<i128>>(&self) -> Result<T, Wrong> {
        let Content::Value(DeValue::Integer(number)) = self.content else {
            return Err(self.wrong("a number is expected"));
        };
        let digits: String = number.as_str().chars().filter(|letter| *letter != '_').collect();
        let value = i128::from_str_radix(&digits, number.radix()).ok();
        value.and_then(|value| T::try_from(value).ok()).ok_or_else(|| self.wrong("the number is out of range"))
    }

    /// The text of a key that has to be there.
    pub(crate) fn required(&self, key: &str) -> Result<Item<'a>, Wrong> {
        self.get(key)?.ok_or_else(|| self.wrong(format!("'{key}' is missing")))
    }
}
