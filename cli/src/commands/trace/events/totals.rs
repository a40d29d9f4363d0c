//! The aggregates of rules.

use serde::Serialize;
use ubp::rules::{Key, Ranked, Reading, Summary, Table, Values};

use crate::failure::Result;
use crate::output::Output;

/// An aggregate. The field names are the keys of the JSON form.
#[derive(Debug, Serialize)]
pub(in super::super) struct Totals {
    event: &'static str,
    aggregate: String,
    rows: Vec<Row>,
    /// The values that have no row of their own.
    other: Option<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    /// The process, the thread, or a value in hexadecimal digits; empty for the only row and for that of all others.
    key: String,
    count: u64,
    /// How much too large the count may be.
    error: u64,
    sum: Option<u64>,
    minimum: Option<u64>,
    maximum: Option<u64>,
    mean: Option<u64>,
    histogram: Vec<(u64, u64, u64)>,
}

impl Totals {
    pub(in super::super) fn new(summary: &Summary, reading: &Reading) -> Totals {
        let name = |key: u64| match summary.key {
            Key::One => String::new(),
            Key::Process | Key::Thread => key.to_string(),
            _ => format!("{key:#x}"),
        };
        let has_values = summary.value.is_some();
        let (mut rows, other) = match reading {
            Reading::Table(Table { rows, other }) => (
                rows.iter().map(|(key, values)| Row::new(name(*key), values, has_values)).collect(),
                other.as_ref().map(|values| Row::new(String::new(), values, has_values)),
            ),
            Reading::Top(ranked) => (ranked.iter().map(|rank| Row::ranked(name(rank.key), rank)).collect(), None),
            _ => (Vec::new(), None),
        };
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        Totals { event: "aggregate", aggregate: summary.name.clone(), rows, other }
    }

    pub(in super::super) fn write_text(&self, out: &mut Output<'_>) -> Result<()> {
        out.line(format_args!("{:>12}  {}", "count", self.aggregate))?;
        self.rows.iter().try_for_each(|row| row.write_text(&row.key, out))?;
        self.other.iter().try_for_each(|row| row.write_text("other keys", out))
    }
}

impl Row {
    fn new(key: String, values: &Values, has_values: bool) -> Row {
        let shown = |value: Option<u64>| value.filter(|_| has_values);
        let buckets = values.histogram().into_iter();
        let buckets = buckets.map(|bucket| (*bucket.values.start(), *bucket.values.end(), bucket.count));
        Row {
            key,
            count: values.count(),
            error: 0,
            sum: shown(u64::try_from(values.sum()).ok()),
            minimum: shown(values.least()),
            maximum: shown(values.largest()),
            mean: shown(values.mean()),
            histogram: buckets.collect(),
        }
    }

    fn ranked(key: String, rank: &Ranked<u64>) -> Row {
        let (sum, minimum, maximum, mean) = (None, None, None, None);
        Row { key, count: rank.count, error: rank.error, sum, minimum, maximum, mean, histogram: Vec::new() }
    }

    fn write_text(&self, name: &str, out: &mut Output<'_>) -> Result<()> {
        let mut line = format!("{:>12}  {name}", self.count);
        if self.error > 0 {
            line += &format!(" (up to {} fewer)", self.error);
        }
        if let (Some(sum), Some(minimum), Some(mean), Some(maximum)) = (self.sum, self.minimum, self.mean, self.maximum)
        {
            line += &format!(" minimum {minimum}, mean {mean}, maximum {maximum}, sum {sum}");
        }
        out.line(line.trim_end())?;
        for (from, to, count) in &self.histogram {
            out.line(format_args!("{from:>20} to {to:>20} {count:>9}"))?;
        }
        Ok(())
    }
}
