//! A snapshot as a message of OTLP.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::metrics::v1::{ExportMetricsServiceRequest, ExportMetricsServiceResponse};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;

use super::resource::Attributes;
use super::snapshot::{Labels, Scale, Series, Snapshot};

/// All numbers are those since the start: a message that is lost leaves no gap behind the next.
const SINCE_START: i32 = AggregationTemporality::Cumulative as i32;

/// The type of the format.
pub(super) const TYPE: &str = "application/x-protobuf";

/// Returns the bytes of a message. `start`: when the run began.
pub(super) fn message(snapshot: &Snapshot, attributes: &Attributes, start: SystemTime) -> Vec<u8> {
    let metrics = Times { start: nanoseconds(start), now: nanoseconds(snapshot.time) }.metrics(snapshot);
    let version = env!("CARGO_PKG_VERSION").into();
    let scope = InstrumentationScope { name: "ntrace".into(), version, ..InstrumentationScope::default() };
    let attributes = attributes.iter().map(|(name, value)| attribute(name, value)).collect();
    let resource = ResourceMetrics {
        resource: Some(Resource { attributes, ..Resource::default() }),
        scope_metrics: vec![ScopeMetrics { scope: Some(scope), metrics, schema_url: String::new() }],
        schema_url: String::new(),
    };
    ExportMetricsServiceRequest { resource_metrics: vec![resource] }.encode_to_vec()
}

/// Returns why a collector that took a message left out numbers of it, if it did.
pub(super) fn rejection(answer: &[u8]) -> Option<String> {
    let partial = ExportMetricsServiceResponse::decode(answer).ok()?.partial_success?;
    let count = partial.rejected_data_points;
    (count > 0).then(|| format!("it rejected {count} numbers: {}", partial.error_message))
}

/// The times that all numbers of a message have, in nanoseconds since 1970.
#[derive(Clone, Copy)]
struct Times {
    start: u64,
    now: u64,
}

impl Times {
    fn metrics(self, snapshot: &Snapshot) -> Vec<Metric> {
        let number = |value| vec![self.number(Vec::new(), value)];
        let processes = Data::Gauge(Gauge { data_points: number(snapshot.processes as u64) });
        let mut metrics = vec![
            metric("ntrace.processes", "Traced processes", "{process}", processes),
            metric("ntrace.lost", "Hits that are in no other number", "{hit}", sum(number(snapshot.lost))),
        ];
        if snapshot.scale != Some(Scale::Durations) {
            let points = snapshot.series.iter().map(|series| self.number(labels(&series.labels), series.hits));
            metrics.push(metric("ntrace.hits", "Hits of locations", "{hit}", sum(points.collect())));
        }
        let (name, description, unit) = match snapshot.scale {
            Some(Scale::Durations) => ("ntrace.call.duration", "Time of calls, or from one location to another", "s"),
            Some(Scale::Values) => ("ntrace.value", "Values of an argument or register", ""),
            None => return metrics,
        };
        let data_points = snapshot.series.iter().filter_map(|series| self.histogram(series)).collect();
        let histogram = Histogram { data_points, aggregation_temporality: SINCE_START };
        metrics.push(metric(name, description, unit, Data::Histogram(histogram)));
        metrics
    }

    fn number(self, attributes: Vec<KeyValue>, value: u64) -> NumberDataPoint {
        NumberDataPoint {
            attributes,
            start_time_unix_nano: self.start,
            time_unix_nano: self.now,
            value: Some(number_data_point::Value::AsInt(i64::try_from(value).unwrap_or(i64::MAX))),
            ..NumberDataPoint::default()
        }
    }

    fn histogram(self, series: &Series) -> Option<HistogramDataPoint> {
        let distribution = series.distribution.as_ref()?;
        Some(HistogramDataPoint {
            attributes: labels(&series.labels),
            start_time_unix_nano: self.start,
            time_unix_nano: self.now,
            count: distribution.count(),
            sum: Some(distribution.total()),
            bucket_counts: distribution.counts.clone(),
            explicit_bounds: distribution.scale.bounds(),
            ..HistogramDataPoint::default()
        })
    }
}

fn metric(name: &str, description: &str, unit: &str, data: Data) -> Metric {
    Metric {
        name: name.into(),
        description: description.into(),
        unit: unit.into(),
        metadata: Vec::new(),
        data: Some(data),
    }
}

fn sum(data_points: Vec<NumberDataPoint>) -> Data {
    Data::Sum(Sum { data_points, aggregation_temporality: SINCE_START, is_monotonic: true })
}

fn labels(labels: &Labels) -> Vec<KeyValue> {
    let all = [("location", &labels.location), ("by", &labels.by)].into_iter();
    all.filter(|(_, value)| !value.is_empty()).map(|(name, value)| attribute(name, value)).collect()
}

fn attribute(name: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(Value::StringValue(value.into())) };
    KeyValue { key: name.into(), value: Some(value), ..KeyValue::default() }
}

/// A time before 1970 is 0, "unknown".
fn nanoseconds(time: SystemTime) -> u64 {
    let since: Duration = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
