//! Source lines and addresses in the words of the protocol.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use insn::Flow;
use serde_json::{Value, json};
use ubp_symbols::{Module, code};

use super::refusal::Refusal;

/// A source file.
pub(super) fn source(path: &str) -> Value {
    json!({ "name": path.rsplit('/').next().unwrap_or(path), "path": path })
}

/// The address that a text means: in hexadecimal after `0x`, else in decimal.
pub(super) fn number_of(text: &str) -> Result<u64, Refusal> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| Refusal::new(format!("'{text}' is no address; write 0x401000")))
}

/// The lines of a source file among some that have code in one of the modules.
pub(super) fn code_lines<'a>(
    modules: impl Iterator<Item = &'a Module>,
    path: &str,
    lines: RangeInclusive<u64>,
) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    for module in modules {
        let Some(all) = module.image.lines() else { continue };
        for (line, addresses) in all.find(path).lines.range(lines.clone()) {
            if addresses.iter().any(|address| module.image.is_code(*address)) {
                found.insert(*line);
            }
        }
    }
    found
}

/// How code of a module is decoded.
pub(super) fn mode(module: &Module) -> code::Mode {
    module.image.arch().mode(code::vendor())
}

/// The address behind the code that makes a function's frame, where its variables are: the second line of the function begins there. It is the
/// function's own address where that is not known, or where a branch lies between: then some arrivals would be missed.
pub(super) fn past_prologue(module: &Module, address: u64) -> u64 {
    second_line(module, address).unwrap_or(address)
}

fn second_line(module: &Module, address: u64) -> Option<u64> {
    let start = module.in_file(address);
    let symbol = module.image.symbols().holding(start).filter(|symbol| symbol.address == start)?;
    let rows = module.image.lines()?.rows(start..start.saturating_add(symbol.size));
    let end = rows.iter().map(|row| row.addresses.start).find(|row| *row > start)?;
    let mut at = start;
    while at < end {
        let insn = code::decode(module.image.bytes_at(at)?, at, mode(module))?;
        if insn.flow != Flow::Next {
            return None;
        }
        at += insn.len as u64;
    }
    (at == end).then(|| module.in_memory(end))
}
