//! Breakpoints go only where memory holds the code that they were chosen for by the file.

use std::collections::HashSet;
use std::ops::Range;

use ubp::Session;

use super::plan::Planned;
use crate::output::tell;
use crate::process::{Module, Space, differing};

/// Leaves out the places at which memory does not hold the file's code, and says so.
pub(super) fn leave_out_differing(
    session: &mut Session,
    space: &Space,
    module: &Module,
    places: &mut Vec<Planned>,
) -> ubp::Result<()> {
    let own = places.iter().map(|place| module.address(place.address));
    let differing = differing(session, space.pid, module, own, |address| {
        let symbol = module.image.symbols().holding(address).filter(|symbol| symbol.size > 0)?;
        Some(symbol.address..symbol.address.saturating_add(symbol.size))
    })?;
    let Some((first, others)) = differing.split_first() else { return Ok(()) };
    let others = match others.len() {
        0 => String::new(),
        more => format!(", as at {more} more locations"),
    };
    let at = space.describe(Some(module), module.place(*first), module.place(*first));
    let path = module.image.path().display();
    tell(format_args!("'{}': no breakpoint: memory does not hold the code of {path} there{others}", at.location));
    places.retain(|place| !differing.contains(&module.address(place.address)));
    Ok(())
}

/// Takes those out of a module's places, addresses in memory of instructions, at which memory does not hold the file's code.
pub(super) fn take_differing(
    session: &mut Session,
    space: &Space,
    module: &Module,
    places: &mut Vec<u64>,
) -> ubp::Result<Vec<u64>> {
    let own = places.iter().map(|place| module.address(*place));
    let differing = differing(session, space.pid, module, own, |address| code_around(module, address))?;
    let differing: Vec<u64> = differing.into_iter().map(|address| module.place(address)).collect();
    if !differing.is_empty() {
        let taken: HashSet<u64> = differing.iter().copied().collect();
        places.retain(|place| !taken.contains(place));
    }
    Ok(differing)
}

/// The range of code that holds an address of a module's file.
fn code_around(module: &Module, address: u64) -> Option<Range<u64>> {
    let code = module.image.code();
    code.get(code.partition_point(|range| range.end <= address)).cloned()
}
