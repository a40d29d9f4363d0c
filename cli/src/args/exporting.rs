//! Where counts and times go while the program runs.

use clap::Args;

/// Where counts and times go while the program runs.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ExportArgs {
    /// Serve the numbers so far at http://HOST:PORT/metrics, for Prometheus. Without HOST, ntrace listens on the loopback interface alone; port 0 is
    /// any free one
    #[arg(long, value_name = "[HOST]:PORT")]
    pub(crate) serve: Option<String>,

    /// Send the numbers so far to a collector of OpenTelemetry by OTLP over HTTP, each minute and at the end; such as http://localhost:4318
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
}
