use std::sync::LazyLock;

use insn::x86::{Bits, Mode, Vendor};

use super::generate;
use crate::deviations::{self, Disagreement, Row, compare};
use crate::generate::{Code, Encoding};
use crate::peers::{PEERS, Peer};
use crate::unlisted;

/// The checked-in list.
static DEVIATIONS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let text = include_str!("../../../deviations.txt");
    deviations::read(text).unwrap_or_else(|error| panic!("deviations.txt: {error}"))
});

/// Another decoder gives our length, flow and target, or refuses what we refuse; what all say otherwise is on the list of their
/// deviations. What only some say otherwise, and the list does not have, is [told](unlisted): one run finds many.
pub fn decoders(data: &[u8]) {
    let Some(Code { mode, encoding: Encoding(bytes) }) = generate(data) else { return };
    let (bytes, mode) = (&bytes[..15], Mode { lenient: false, ..mode });
    for found in disagreements(bytes, mode) {
        let alone = peers(mode).all(|peer| compare(peer, bytes, mode).is_some());
        assert!(!alone, "no peer says so: {}: {found}", crate::corpus::line(bytes));
        unlisted::tell(bytes, &found);
    }
}

/// What peers say otherwise and the list does not cover.
pub fn disagreements(bytes: &[u8], mode: Mode) -> impl Iterator<Item = Disagreement> {
    debug_assert!(mode.bits != Bits::B16 && !mode.lenient);
    let found = peers(mode).filter_map(move |peer| compare(peer, bytes, mode));
    found.filter(|found| !DEVIATIONS.iter().any(|row| row.covers(found)))
}

/// Those that read as the vendor does; of one vendor only, it is Intel.
fn peers(mode: Mode) -> impl Iterator<Item = &'static Peer> {
    PEERS.iter().filter(move |peer| mode.vendor == Vendor::Intel || peer.vendors)
}

/// The list, for tests of it.
pub fn list() -> &'static [Row] {
    &DEVIATIONS
}
