//! Coverage as a table of source files.

use std::fmt;

use super::report::{Covering, Report, Share};
use crate::failure::Result;
use crate::output::Output;

/// Writes a row for each source file, and a line for each module.
pub(super) fn write(report: &Report, output: &mut Output<'_>) -> Result<()> {
    for module in &report.modules {
        table(module, output)?;
    }
    for module in &report.modules {
        let Covering { module: path, blocks, refused, functions, .. } = module;
        let entered = functions.iter().filter(|function| function.blocks.executed > 0).count();
        let functions = functions.len();
        output.line(format_args!(
            "{path}: executed {entered} of {functions} functions, {} of {} blocks",
            blocks.executed, blocks.all
        ))?;
        if *refused > 0 {
            output.line(format_args!("{path}: {refused} blocks can have no breakpoint, and are not counted"))?;
        }
        if module.files.is_empty() {
            output.line(format_args!("{path}: there is no debug information, so that no source lines are known"))?;
        }
    }
    Ok(())
}

fn table(module: &Covering, output: &mut Output<'_>) -> Result<()> {
    if module.files.is_empty() {
        return Ok(());
    }
    output.line("           lines  executed  file")?;
    let mut sum = Share::default();
    for file in &module.files {
        let lines = file.lines_executed();
        sum.add(lines);
        output.line(format_args!("{}  {}", Row(lines), file.file))?;
    }
    if module.files.len() > 1 {
        output.line(format_args!("{}  in all", Row(sum)))?;
    }
    Ok(())
}

/// The numbers of one row.
struct Row(Share);

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Share { executed, all } = self.0;
        let percent = executed as f64 * 100.0 / all.max(1) as f64;
        write!(f, "{executed:>6} of {all:>6}  {percent:>6.1} %")
    }
}
