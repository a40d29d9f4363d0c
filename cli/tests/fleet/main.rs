//! `--serve` and `--otlp`: what Debian's Prometheus and VictoriaMetrics learn of a running program is what the program did.

#[path = "../common/mod.rs"]
mod common;

mod counted;
mod host;
mod hostile;
mod hosts;
mod http;
mod judge;
mod refused;
mod sent;
mod timed;

use std::path::PathBuf;
use std::sync::OnceLock;

/// The program, built once.
fn program() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| common::build("served.c", &[])).clone()
}
