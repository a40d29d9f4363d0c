//! Times of calls.

use serde_json::Value;

use crate::host::{Host, scraped};
use crate::http::until;
use crate::judge::Judge;
use crate::program;

#[test]
fn prometheus_has_the_times_of_all_calls_that_returned() {
    let mut host = Host::start(&["latency", "-b", "work", "nap", "--serve", ":0"], &program());
    let address = host.address();
    let Some(judge) = Judge::prometheus("prometheus_has_the_times_of_all_calls_that_returned", &[address]) else {
        return;
    };
    host.work("work", 300);
    host.work("nap", 20);
    judge.expect("sum(ntrace_call_duration_seconds_count)", 320.0);
    let of = |metric: &str, name: &str| format!("ntrace_call_duration_seconds_{metric}{{location=~\".*!{name}\"}}");
    let sums = ["work", "nap"].map(|name| judge.value(&of("sum", name)).unwrap());
    let buckets = ["work", "nap"].map(|name| judge.ask(&of("bucket", name)));
    let median = "histogram_quantile(0.5, sum by (le, location) (ntrace_call_duration_seconds_bucket))";
    let medians = judge.ask(median);
    let table = host.end().table;
    for ((name, sum), buckets) in ["work", "nap"].into_iter().zip(sums).zip(buckets) {
        let rows = table["latencies"].as_array().unwrap();
        let row = rows.iter().find(|row| row["symbol"] == name).unwrap();
        assert_eq!(sum, row["total"].as_u64().unwrap() as f64 / 1e9, "{row}");
        assert_eq!(buckets.len(), 28, "{buckets:?}");
        for (labels, count) in buckets {
            let bound: f64 = labels["le"].as_str().unwrap().parse().unwrap();
            assert_eq!(count as u64, up_to(row, (bound * 1e9).round()), "{labels} of {row}");
        }
        let of_row =
            |labels: &Value| labels["location"].as_str().is_some_and(|text| text.ends_with(&format!("!{name}")));
        let (_, median) = medians.iter().find(|(labels, _)| of_row(labels)).unwrap();
        let p50 = row["p50"].as_u64().unwrap() as f64 / 1e9;
        // A bucket ends at twice its beginning.
        assert!(*median >= p50 / 2.1 && *median <= p50 * 2.1, "{median} and {row}");
    }
}

/// The number of times of a row up to a number of nanoseconds, which is one less than a power of two.
fn up_to(row: &Value, nanoseconds: f64) -> u64 {
    let buckets = row["histogram"].as_array().unwrap().iter();
    let below = buckets.filter(|bucket| bucket["to"].as_u64().unwrap() as f64 - 1.0 <= nanoseconds);
    below.map(|bucket| bucket["count"].as_u64().unwrap()).sum()
}

#[test]
fn rows_and_ways_between_locations_have_their_labels() {
    for (arguments, by, count) in
        [(&["--by", "caller"][..], "from served!main+0x", 5.0), (&["--to", "nap"], "to served!nap", 1.0)]
    {
        let arguments = [&["latency", "-b", "work", "--serve", ":0"], arguments].concat();
        let mut host = Host::start(&arguments, &program());
        let address = host.address();
        host.work("work", 5);
        host.work("nap", 1);
        // The program's file has a number in its name.
        let shown = |name: &str| name.replace(program().file_name().unwrap().to_str().unwrap(), "served");
        let start = format!("ntrace_call_duration_seconds_count{{location=\"served!work\",by=\"{by}");
        until(&start, || {
            let series = scraped(address);
            let row = series.iter().find(|(name, _)| shown(name).starts_with(&start))?;
            (row.1 == count).then_some(())
        });
        host.end();
    }
}
