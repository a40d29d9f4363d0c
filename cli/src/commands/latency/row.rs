//! One row of the table: the times at one location.

use std::rc::Rc;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::fleet::{Distribution, Labels, Scale};
use crate::output::{Ink, Output, duration, record};
use crate::process::{Description, source};

/// Significant digits of a recorded time: an error of less than one percent.
const DIGITS: u8 = 2;
/// The number of characters of the longest bar of a histogram.
const BAR: u64 = 40;

/// A row's image, address in its file, and what else it is for.
pub(super) type Key = (Option<u64>, u64, String);

/// The times at one location.
pub(super) struct Times {
    description: Rc<Description>,
    by: String,
    histogram: Histogram<u64>,
    /// The number of times from each power of two of nanoseconds to the next. Zero counts as one.
    powers: [u64; u64::BITS as usize],
    total: Duration,
    inner: Duration,
    least: Duration,
    most: Duration,
}

/// The times of one location. The field names are the keys of the JSON form; times are nanoseconds.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    #[serde(flatten, serialize_with = "shared")]
    description: Rc<Description>,
    by: String,
    count: u64,
    total: u64,
    /// `total` without the time in other functions of the table.
    own: u64,
    mean: u64,
    minimum: u64,
    p50: u64,
    p90: u64,
    p99: u64,
    maximum: u64,
    histogram: Vec<Bucket>,
}

/// The number of times from one power of two to the next.
#[derive(Debug, Serialize)]
pub(super) struct Bucket {
    from: u64,
    to: u64,
    count: u64,
}

impl Times {
    pub(super) fn new(description: Rc<Description>, by: String) -> Result<Times> {
        let histogram = Histogram::new(DIGITS).map_err(|error| Failure::own(format!("histogram: {error}")))?;
        let (total, inner, most) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        let powers = [0; u64::BITS as usize];
        Ok(Times { description, by, histogram, powers, total, inner, least: Duration::MAX, most })
    }

    /// Adds a time; `inner` of it was spent in other functions of the table.
    pub(super) fn add(&mut self, time: Duration, inner: Duration) {
        // The histogram grows as needed.
        let _ = self.histogram.record(nanoseconds(time));
        self.powers[nanoseconds(time).max(1).ilog2() as usize] += 1;
        self.total += time;
        self.inner += inner;
        self.least = self.least.min(time);
        self.most = self.most.max(time);
    }

    /// What the row is for.
    pub(super) fn labels(&self) -> Labels {
        Labels::new(&self.description.location, &self.by)
    }

    /// The times, divided as on every other host.
    pub(super) fn distribution(&self) -> Distribution {
        let mut distribution = Distribution::new(Scale::Durations);
        distribution.sum = self.total.as_nanos();
        for (log, count) in self.powers.iter().enumerate().filter(|(_, count)| **count > 0) {
            distribution.add(u64::MAX >> (u64::BITS as usize - 1 - log), *count);
        }
        distribution
    }

    pub(super) fn row(self) -> Row {
        let count = self.histogram.len();
        // A value of the histogram is rounded.
        let (least, most) = (nanoseconds(self.least), nanoseconds(self.most));
        let quantile = |part| self.histogram.value_at_quantile(part).clamp(least, most);
        let total = nanoseconds(self.total);
        Row {
            by: self.by,
            count,
            total,
            own: nanoseconds(self.total.saturating_sub(self.inner)),
            mean: total.checked_div(count).unwrap_or(0),
            minimum: least,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            maximum: most,
            histogram: buckets(&self.powers),
            description: self.description,
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The buckets from the first to the last that is not empty.
fn buckets(counts: &[u64; u64::BITS as usize]) -> Vec<Bucket> {
    let used = |count: &u64| *count > 0;
    let (first, last) = (counts.iter().position(used), counts.iter().rposition(used));
    let (Some(first), Some(last)) = (first, last) else { return Vec::new() };
    let bucket = |log: usize| Bucket { from: 1 << log, to: (2 << log) - u64::from(log == 63), count: counts[log] };
    (first..=last).map(bucket).collect()
}

/// Writes the rows as columns, with the source lines of the functions or without.
pub(super) fn write_text(rows: &[Row], sources: bool, histogram: bool, out: &mut Output<'_>) -> Result<()> {
    let columns = ["total", "own", "mean", "p50", "p90", "p99", "max"].map(|name| format!("{name:>9}")).join(" ");
    out.inked(&[(Ink::Head, &format_args!("{:>9} {columns}  location", "count"))])?;
    for row in rows {
        let times = [row.total, row.own, row.mean, row.p50, row.p90, row.p99, row.maximum];
        let times = times.map(|time| format!("{:>9}", duration(Duration::from_nanos(time)))).join(" ");
        let by = if row.by.is_empty() { String::new() } else { format!(" {}", row.by) };
        let source = if sources { source(&row.description) } else { String::new() };
        out.inked(&[
            (Ink::Plain, &format_args!("{:>9} {times}  ", row.count)),
            (Ink::Location, &row.description.location),
            (Ink::Plain, &by),
            (Ink::Minor, &source),
        ])?;
        if histogram {
            write_histogram(&row.histogram, out)?;
        }
    }
    Ok(())
}

/// Writes a line for each row, behind a line with the names of the columns. Times are nanoseconds.
pub(super) fn write_csv(rows: &[Row], out: &mut Output<'_>) -> Result<()> {
    let head = ["location", "by", "count", "total", "own", "mean", "minimum", "p50", "p90", "p99", "maximum"];
    out.line(record(&head.map(String::from)))?;
    rows.iter().try_for_each(|row| {
        let numbers = [row.count, row.total, row.own, row.mean, row.minimum, row.p50, row.p90, row.p99, row.maximum];
        let texts = [row.description.location.clone(), row.by.clone()].into_iter();
        let fields: Vec<String> = texts.chain(numbers.map(|number| number.to_string())).collect();
        out.line(record(&fields))
    })
}

fn write_histogram(buckets: &[Bucket], out: &mut Output<'_>) -> Result<()> {
    let most = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0).max(1);
    for bucket in buckets {
        let [from, to] = [bucket.from, bucket.to].map(|time| duration(Duration::from_nanos(time)));
        let length = (bucket.count.saturating_mul(BAR)).div_ceil(most);
        let bar = "#".repeat(usize::try_from(length).unwrap_or(0));
        out.line(format_args!("{from:>19} to {to:>9} {:>9}  {bar}", bucket.count))?;
    }
    Ok(())
}

impl Row {
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The order of rows: the largest total first.
    pub(super) fn order(&self) -> (std::cmp::Reverse<u64>, &str, &str) {
        (std::cmp::Reverse(self.total), &self.description.location, &self.by)
    }
}

fn shared<S: serde::Serializer>(description: &Rc<Description>, serializer: S) -> Result<S::Ok, S::Error> {
    description.serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::describe;

    #[test]
    fn buckets_go_from_the_first_to_the_last_with_a_time() {
        let description = describe(None, None, 0x1000, 0x1000);
        let mut times = Times::new(Rc::new(description), String::new()).unwrap();
        [0, 1, 5, 7, 40].into_iter().for_each(|time| times.add(Duration::from_nanos(time), Duration::ZERO));
        let told = times.distribution();
        assert_eq!((told.count(), told.sum), (5, 53));
        let counts: Vec<_> = times.row().histogram.iter().map(|b| (b.from, b.to, b.count)).collect();
        assert_eq!(counts, [(1, 2, 2), (2, 4, 0), (4, 8, 2), (8, 16, 0), (16, 32, 0), (32, 64, 1)]);
    }
}
