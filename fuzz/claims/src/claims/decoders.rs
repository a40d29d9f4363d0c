use std::sync::LazyLock;

use insn::x86::{Bits, Mode, Vendor};

use super::generate;
use crate::deviations::{self, Disagreement, Row, compare};
use crate::generate::{Code, Encoding};
use crate::peers::PEERS;

/// The checked-in list.
static DEVIATIONS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let text = include_str!("../../../deviations.txt");
    deviations::read(text).unwrap_or_else(|error| panic!("deviations.txt: {error}"))
});

/// Other decoders give our length, flow and target, or refuse what we refuse; what they do otherwise is on the list of their
/// deviations.
pub fn decoders(data: &[u8]) {
    let Some(Code { mode, encoding: Encoding(bytes) }) = generate(data) else { return };
    if let Some(found) = disagreements(&bytes[..15], Mode { lenient: false, ..mode }).next() {
        panic!("{}: {found}", crate::corpus::line(&bytes[..15]));
    }
}

/// What peers say otherwise and the list does not cover.
pub fn disagreements(bytes: &[u8], mode: Mode) -> impl Iterator<Item = Disagreement> {
    debug_assert!(mode.bits != Bits::B16 && !mode.lenient);
    // Those that know but one vendor read as Intel does.
    let peers = PEERS.iter().filter(move |peer| mode.vendor == Vendor::Intel || peer.vendors);
    let found = peers.filter_map(move |peer| compare(peer, bytes, mode));
    found.filter(|found| !DEVIATIONS.iter().any(|row| row.covers(found)))
}

/// The list, for tests of it.
pub fn list() -> &'static [Row] {
    &DEVIATIONS
}
