//! The arguments of `ntrace top`.

use clap::Args;

use super::tracing::{Method, Target};

/// The arguments of `ntrace top`.
#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    pub(crate) target: Target,

    /// The instruction that ntrace writes at each location
    #[arg(long, value_enum, default_value_t = Method::Auto)]
    pub(crate) method: Method,
}
