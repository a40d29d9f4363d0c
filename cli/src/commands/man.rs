//! `ntrace man`.
use crate::failure::Result;
use std::process::ExitCode;
pub(super) fn run() -> Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
