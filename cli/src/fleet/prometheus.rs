//! A snapshot in the text format of OpenMetrics, which Prometheus reads.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, LabelSetEncoder, NoLabelSet};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Registry, Unit};

use super::snapshot::{Distribution, Labels, Scale, Snapshot};

/// The type of the format.
pub(super) const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns the text of a snapshot. `None`: there is none yet.
pub(super) fn text(snapshot: Option<Arc<Snapshot>>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Told(snapshot)));
    let mut text = String::new();
    // A `String` takes all that is written.
    let _ = encode(&mut text, &registry);
    text
}

/// What a snapshot tells.
#[derive(Debug)]
struct Told(Option<Arc<Snapshot>>);

impl Collector for Told {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        encoder.encode_descriptor("ntrace", "The ntrace that counts", None, MetricType::Info)?.encode_info(&version)?;
        let Some(snapshot) = &self.0 else { return Ok(()) };
        gauge(&mut encoder, "ntrace_processes", "Traced processes", snapshot.processes as u64)?;
        counter(&mut encoder, "ntrace_lost", "Hits that are in no other number", snapshot.lost)?;
        if snapshot.scale != Some(Scale::Durations) {
            hits(&mut encoder, snapshot)?;
        }
        match snapshot.scale {
            Some(Scale::Durations) => {
                let help = "Time of calls, or from one location to another";
                histograms(&mut encoder, "ntrace_call_duration", help, Some(&Unit::Seconds), snapshot)
            }
            Some(Scale::Values) => {
                histograms(&mut encoder, "ntrace_value", "Values of an argument or register", None, snapshot)
            }
            None => Ok(()),
        }
    }
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    let gauge = ConstGauge::new(value);
    gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
}

fn counter(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    let counter = ConstCounter::new(value);
    counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)
}

fn hits(encoder: &mut DescriptorEncoder<'_>, snapshot: &Snapshot) -> fmt::Result {
    let kind = ConstCounter::<u64>::TYPE;
    let mut family = encoder.encode_descriptor("ntrace_hits", "Hits of locations", None, kind)?;
    snapshot.series.iter().try_for_each(|series| {
        let counter = ConstCounter::new(series.hits);
        counter.encode(family.encode_family(&*series.labels)?)
    })
}

fn histograms(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    snapshot: &Snapshot,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, unit, MetricType::Histogram)?;
    let bounds: Vec<f64> = snapshot.scale.map(Scale::bounds).unwrap_or_default();
    let bounds = || bounds.iter().copied().chain([f64::INFINITY]);
    let all = snapshot.series.iter().filter_map(|series| Some((series, series.distribution.as_ref()?)));
    for (series, distribution) in all {
        let Distribution { counts, .. } = distribution;
        let buckets: Vec<(f64, u64)> = bounds().zip(counts.iter().copied()).collect();
        let none: Option<&HashMap<usize, Exemplar<NoLabelSet, f64>>> = None;
        let (sum, count) = (distribution.total(), distribution.count());
        family.encode_family(&*series.labels)?.encode_histogram(sum, count, &buckets, none)?;
    }
    Ok(())
}

impl EncodeLabelSet for Labels {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        let all = [("location", self.location.as_str()), ("by", self.by.as_str())];
        let used = if self.by.is_empty() { &all[..1] } else { &all[..] };
        used.encode(encoder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::roll::Roll;

    #[test]
    fn a_name_that_the_format_has_a_meaning_for_is_escaped() {
        let mut roll = Roll::new(None);
        let mut round = roll.round();
        round.add(1, || Labels::new("prog!operator\"\"_x\\\n", "arg0=0x1"), 7, None);
        let text = text(Some(Arc::new(round.finish(2, 3))));
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let expected = [
            concat!("ntrace_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
            "ntrace_processes 2",
            "ntrace_lost_total 3",
            r#"ntrace_hits_total{location="prog!operator\"\"_x\\\\n",by="arg0=0x1"} 7"#,
        ];
        assert_eq!(lines, expected);
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn buckets_are_sums_from_the_least_value_on() {
        let mut roll = Roll::new(Some(Scale::Durations));
        let mut round = roll.round();
        let mut distribution = Distribution::new(Scale::Durations);
        distribution.add(1023, 2);
        distribution.add(2047, 1);
        distribution.add(u64::MAX, 1);
        distribution.sum = 90_000_000_000;
        round.add(1, || Labels::new("f", ""), 4, Some(distribution));
        let text = text(Some(Arc::new(round.finish(1, 0))));
        for line in [
            "ntrace_call_duration_seconds_sum{location=\"f\"} 90.0",
            "ntrace_call_duration_seconds_count{location=\"f\"} 4",
            "ntrace_call_duration_seconds_bucket{le=\"0.000001023\",location=\"f\"} 2",
            "ntrace_call_duration_seconds_bucket{le=\"0.000002047\",location=\"f\"} 3",
            "ntrace_call_duration_seconds_bucket{le=\"68.719476735\",location=\"f\"} 3",
            "ntrace_call_duration_seconds_bucket{le=\"+Inf\",location=\"f\"} 4",
        ] {
            assert!(text.lines().any(|told| told == line), "no {line} in {text}");
        }
        assert!(!text.contains("ntrace_hits"), "{text}");
    }
}
