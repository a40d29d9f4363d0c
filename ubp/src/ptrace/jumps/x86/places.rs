//! What the addresses in a trampoline mean.

use trampoline::x86::{Place, Trampoline};

use super::super::Member;
use super::super::code::workbench::{Draft, Workbench};

/// The instructions of the trampoline that was made last that read the program's memory, and where threads continue whose access faults.
pub(in crate::ptrace) fn fixups(bench: &Workbench, trampoline: &Trampoline) -> Box<[(u64, u64)]> {
    let address = |offset: u16| trampoline.at().wrapping_add(offset.into());
    let places = bench.places(trampoline).iter();
    places.filter_map(|place| Some((address(place.offset), address(place.fixup?)))).collect()
}

/// The meaning of an address in a trampoline, at an instruction's beginning.
pub(in crate::ptrace) fn place(
    draft: &Draft,
    members: &[Member],
    trampoline: &Trampoline,
    offset: u16,
) -> Option<Place> {
    let mut bench = Workbench::new();
    let trampoline = bench.make(draft, members, trampoline.at()).ok()?;
    trampoline::x86::place(bench.places(&trampoline), offset).copied()
}
