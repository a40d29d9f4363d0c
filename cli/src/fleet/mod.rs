//! Collects the numbers of a run into those of many hosts, while the program runs: Prometheus fetches them ([`server`]), or a collector of
//! OpenTelemetry gets them ([`push`]).
//!
//! The tracing thread makes a [`Snapshot`] when somebody asks for one, and lays it on a [`Board`](board::Board). It waits for nobody. A thread each
//! answers requests and sends. docs/fleets.md describes what a user sees.

mod board;
mod connection;
mod exports;
mod otlp;
mod prometheus;
mod push;
mod request;
mod resource;
mod roll;
mod server;
mod snapshot;
mod url;

pub(crate) use self::exports::Exports;
pub(crate) use self::roll::Roll;
pub(crate) use self::snapshot::{Distribution, Labels, Scale, Snapshot};
