//! The rows in the form in which they are written.

use std::cmp::Reverse;
use std::rc::Rc;

use serde::{Serialize, Serializer};
use ubp::rules::{self, Values};

use crate::failure::Result;
use crate::output::{Ink, Output, record};
use crate::process::{Description, source};

/// The number of characters of the longest bar of a histogram.
const BAR: u64 = 40;

/// The results. The field names are the keys of the JSON form.
#[derive(Debug, Default, Serialize)]
pub(super) struct Results {
    /// All hits, those of `other` too.
    pub(super) total: u64,
    #[serde(rename = "counts")]
    pub(super) rows: Vec<Row>,
    /// The hits that have no row of their own.
    pub(super) other: u64,
}

/// The hits of one row.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    hits: u64,
    /// How much too large the number of hits may be.
    error: u64,
    by: String,
    #[serde(flatten, serialize_with = "shared")]
    description: Option<Rc<Description>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Summary>,
}

/// The values at the hits of a row.
#[derive(Debug, Serialize)]
struct Summary {
    /// The sum, or the largest number of 64 bits.
    sum: u64,
    mean: Option<u64>,
    minimum: Option<u64>,
    maximum: Option<u64>,
    histogram: Vec<Bucket>,
}

/// The number of values from one power of two to the next.
#[derive(Debug, Serialize)]
struct Bucket {
    from: u64,
    to: u64,
    count: u64,
}

impl Row {
    pub(super) fn new(
        description: Option<Rc<Description>>,
        by: String,
        hits: u64,
        error: u64,
        values: Option<&Values>,
    ) -> Row {
        Row { hits, error, by, description, values: values.map(Summary::new) }
    }

    fn location(&self) -> &str {
        self.description.as_ref().map_or("", |description| &description.location)
    }
}

impl Summary {
    fn new(values: &Values) -> Summary {
        let bucket = |bucket: rules::Bucket| Bucket {
            from: *bucket.values.start(),
            to: *bucket.values.end(),
            count: bucket.count,
        };
        Summary {
            sum: u64::try_from(values.sum()).unwrap_or(u64::MAX),
            mean: values.mean(),
            minimum: values.least(),
            maximum: values.largest(),
            histogram: values.histogram().into_iter().map(bucket).collect(),
        }
    }
}

impl Results {
    /// Puts the row with most hits first.
    pub(super) fn sort(&mut self) {
        self.rows.sort_by(|a, b| (Reverse(a.hits), a.location(), &a.by).cmp(&(Reverse(b.hits), b.location(), &b.by)));
    }

    pub(super) fn write_text(&self, out: &mut Output<'_>) -> Result<()> {
        out.inked(&[(Ink::Head, &format_args!("{:>12}  location", "hits"))])?;
        for row in &self.rows {
            let by = if row.by.is_empty() { String::new() } else { format!(" {}", row.by) };
            // A row that names another place beside the function does not show the function's line.
            let is_caller = row.by.starts_with("from ");
            let source = row.description.as_ref().filter(|_| !is_caller).map_or_else(String::new, |at| source(at));
            let error = match row.error {
                0 => String::new(),
                error => format!(" (up to {error} fewer)"),
            };
            out.inked(&[
                (Ink::Plain, &format_args!("{:>12}  ", row.hits)),
                (Ink::Location, &row.location()),
                (Ink::Plain, &by),
                (Ink::Minor, &source),
                (Ink::Plain, &error),
            ])?;
            if let Some(values) = &row.values {
                values.write_text(out)?;
            }
        }
        if self.other > 0 {
            out.line(format_args!("{:>12}  in other rows", self.other))?;
        }
        out.line(format_args!("{:>12}  in all", self.total))
    }
}

impl Results {
    /// Writes a line for each row, behind a line with the names of the columns. Without `--hist` the columns of values are empty.
    pub(super) fn write_csv(&self, out: &mut Output<'_>) -> Result<()> {
        let head = ["hits", "error", "location", "by", "sum", "mean", "minimum", "maximum"];
        out.line(record(&head.map(String::from)))?;
        self.rows.iter().try_for_each(|row| {
            let of = |value: fn(&Summary) -> Option<u64>| {
                row.values.as_ref().and_then(value).map(|value| value.to_string()).unwrap_or_default()
            };
            out.line(record(&[
                row.hits.to_string(),
                row.error.to_string(),
                row.location().to_string(),
                row.by.clone(),
                of(|values| Some(values.sum)),
                of(|values| values.mean),
                of(|values| values.minimum),
                of(|values| values.maximum),
            ]))
        })
    }
}

impl Summary {
    fn write_text(&self, out: &mut Output<'_>) -> Result<()> {
        let most = self.histogram.iter().map(|bucket| bucket.count).max().unwrap_or(0).max(1);
        for Bucket { from, to, count } in &self.histogram {
            let length = count.saturating_mul(BAR).div_ceil(most);
            let bar = "#".repeat(usize::try_from(length).unwrap_or(0));
            out.line(format_args!("{from:>20} to {to:>20} {count:>9}  {bar}"))?;
        }
        let [minimum, mean, maximum] = [self.minimum, self.mean, self.maximum].map(Option::unwrap_or_default);
        out.line(format_args!("{:>12}  minimum {minimum}, mean {mean}, maximum {maximum}, sum {}", "", self.sum))
    }
}

fn shared<S: Serializer>(description: &Option<Rc<Description>>, serializer: S) -> Result<S::Ok, S::Error> {
    description.as_deref().serialize(serializer)
}
