//! Excludes sites at which memory does not contain the code of the file: the file's symbols and lines do not describe that memory.

use std::collections::HashSet;
use std::ops::Range;

use ubp::Session;
use ubp_symbols::{Module, differing};

use super::plan::Planned;
use crate::output::tell;
use crate::process::{Space, replaced};

/// Removes the sites at which memory differs from the file, and reports them.
pub(super) fn drop_differing(
    session: &mut Session,
    space: &Space,
    module: &Module,
    sites: &mut Vec<Planned>,
) -> ubp::Result<()> {
    let in_file = sites.iter().map(|site| module.in_file(site.address));
    let differing = replaced(session, space.pid, module, in_file)?;
    let Some((first, others)) = differing.split_first() else { return Ok(()) };
    let others = match others.len() {
        0 => String::new(),
        more => format!(", and at {more} more locations"),
    };
    let at = space.describe(Some(module), module.in_memory(*first));
    let path = module.image.path().display();
    tell(format_args!("'{}': no breakpoint: memory does not hold the code of {path} there{others}", at.location));
    sites.retain(|site| !differing.contains(&module.in_file(site.address)));
    Ok(())
}

/// Removes the addresses at which memory differs from the file from `addresses`, and returns them. All are addresses in memory.
pub(super) fn take_differing(
    session: &mut Session,
    space: &Space,
    module: &Module,
    addresses: &mut Vec<u64>,
) -> ubp::Result<Vec<u64>> {
    let in_file = addresses.iter().map(|address| module.in_file(*address));
    let differing = differing(session, space.pid, module, in_file, |address| code_around(module, address))?;
    let differing: Vec<u64> = differing.into_iter().map(|address| module.in_memory(address)).collect();
    if !differing.is_empty() {
        let taken: HashSet<u64> = differing.iter().copied().collect();
        addresses.retain(|address| !taken.contains(address));
    }
    Ok(differing)
}

/// The range of code around an address in the file of a module.
fn code_around(module: &Module, address: u64) -> Option<Range<u64>> {
    let code = module.image.code();
    code.get(code.partition_point(|range| range.end <= address)).cloned()
}
