//! capstone, without details.

use capstone::Capstone;
use capstone::arch::BuildsCapstone;
use capstone::arch::arm64::ArchMode;

use crate::tally::Tally;

/// The distance of the words that capstone decodes: it takes a microsecond for each.
const STEP: usize = 64;

pub(super) fn decode(words: &[u32]) -> Tally {
    let mut tally = Tally::default();
    let decoder = Capstone::new().arm64().mode(ArchMode::Arm).build().expect("capstone was built for arm64");
    for word in words.iter().step_by(STEP) {
        let decoded = decoder.disasm_count(&word.to_le_bytes(), 0x1000, 1);
        tally.add(decoded.map_or(0, |found| found.first().map_or(0, |instruction| instruction.id().0.into())));
    }
    tally
}
