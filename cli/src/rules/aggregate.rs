//! Aggregates.

use ubp::rules::{Buckets, Key, Summary};

use super::value::value;
use crate::item::{Item, Wrong};

/// The rows of an aggregate that says nothing about them.
const ROWS: usize = 4096;

pub(super) fn read(name: &str, item: &Item<'_>) -> Result<Summary, Wrong> {
    item.only(&["key", "value", "histogram", "rows", "top"])?;
    let unknown = |item: &Item<'_>, text: &str| item.wrong(format!("no such value: '{text}'"));
    let key = match item.get("key")? {
        None => Key::One,
        Some(item) => match item.text()? {
            "process" => Key::Process,
            "thread" => Key::Thread,
            "location" => Key::Location,
            text => Key::Value(value(text).ok_or_else(|| unknown(&item, text))?),
        },
    };
    let value = match item.get("value")? {
        None => None,
        Some(item) => {
            let text = item.text()?;
            Some(value(text).ok_or_else(|| unknown(&item, text))?)
        }
    };
    let buckets = match item.get("histogram")? {
        None => None,
        Some(item) if item.is_table() => {
            item.only(&["start", "width", "count"])?;
            let start = item.get("start")?.map_or(Ok(0), |item| item.number())?;
            Some(Buckets::Linear {
                start,
                width: item.required("width")?.number()?,
                count: item.required("count")?.number()?,
            })
        }
        Some(item) => match item.text()? {
            "log2" => Some(Buckets::Log2),
            other => return Err(item.wrong(format!("no such histogram: '{other}'; there are log2 and a table"))),
        },
    };
    let most = item.get("rows")?.map_or(Ok(ROWS), |item| item.number())?;
    let top = item.get("top")?.map_or(Ok(false), |item| item.boolean())?;
    Ok(Summary { name: name.into(), key, value, buckets, most, top })
}
