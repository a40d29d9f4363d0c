//! The arguments of `ntrace coverage`.

use clap::{Args, ValueEnum};

use super::tracing::Target;

/// The arguments of `ntrace coverage`.
#[derive(Debug, Args)]
#[command(mut_arg("every_instruction", |argument| argument.hide(true)))]
#[command(mut_arg("condition", |argument| argument.hide(true)))]
#[command(mut_arg("sample", |argument| argument.hide(true)))]
#[command(mut_arg("after", |argument| argument.hide(true)))]
#[command(mut_arg("until", |argument| argument.hide(true)))]
pub(crate) struct CoverageArgs {
    #[command(flatten)]
    pub(crate) target: Target,

    /// The format of the results
    #[arg(long, value_enum, default_value_t = CoverageFormat::Text)]
    pub(crate) format: CoverageFormat,
}

/// The format of coverage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CoverageFormat {
    /// A table of source files
    Text,
    /// One JSON object
    Json,
    /// What lcov, genhtml and editors read (geninfo(1))
    Lcov,
}
