//! Coverage as lcov's tools write and read it (geninfo(1), "FILES"). A line or function that was executed has the count 1.

use std::collections::BTreeMap;

use super::report::{File, Function, Report};
use crate::failure::Result;
use crate::output::Output;

/// Writes one record for each source file.
pub(super) fn write(report: &Report, output: &mut Output<'_>) -> Result<()> {
    for module in &report.modules {
        let mut functions: BTreeMap<&str, Vec<(u32, &Function)>> = BTreeMap::new();
        for function in &module.functions {
            if let (Some(file), Some(line)) = (&function.file, function.line) {
                functions.entry(file).or_default().push((line, function));
            }
        }
        for file in &module.files {
            let functions = functions.remove(file.file.as_str()).unwrap_or_default();
            record(file, &functions, output)?;
        }
    }
    Ok(())
}

fn record(file: &File, functions: &[(u32, &Function)], output: &mut Output<'_>) -> Result<()> {
    output.line("TN:")?;
    output.line(format_args!("SF:{}", file.file))?;
    for (line, function) in functions {
        output.line(format_args!("FN:{line},{}", function.name))?;
    }
    let executed = |function: &Function| u8::from(function.blocks.executed > 0);
    for (_, function) in functions {
        output.line(format_args!("FNDA:{},{}", executed(function), function.name))?;
    }
    output.line(format_args!("FNF:{}", functions.len()))?;
    output.line(format_args!("FNH:{}", functions.iter().filter(|(_, function)| executed(function) > 0).count()))?;
    for (line, executed) in &file.lines {
        output.line(format_args!("DA:{line},{}", u8::from(*executed)))?;
    }
    let lines = file.lines_executed();
    output.line(format_args!("LF:{}", lines.all))?;
    output.line(format_args!("LH:{}", lines.executed))?;
    output.line("end_of_record")
}
