//! Other decoders over the code of installed programs: lengths, flows and targets equal ours except for known deviations.

use std::collections::BTreeMap;

use claims::claims::disagreements;
use claims::corpus::line;
use crossing::programs::{of_x86, text};
use insn::x86::{Mode, decode};

/// The most instructions of a program that are compared, evenly spread, because capstone takes a microsecond for each.
const MOST: usize = 400_000;

#[test]
fn lengths_flows_and_targets_of_real_code_are_those_of_other_decoders() {
    let mut differences: BTreeMap<String, String> = BTreeMap::new();
    let mut compared = 0u64;
    for code in of_x86().iter().filter_map(|path| text(path).ok()) {
        let step = (code.len() / 4).div_ceil(MOST).max(1);
        let (mut at, mut count) = (0, 0usize);
        while let Some(bytes) = code.get(at..at + 15) {
            at += decode(bytes, Mode::INTEL_64).map_or(1, |insn| insn.len());
            count += 1;
            if count % step != 0 {
                continue;
            }
            compared += 1;
            for found in disagreements(bytes, Mode::INTEL_64) {
                let class = format!("{} {:?} {}", found.peer, found.difference, found.shape);
                differences.entry(class).or_insert_with(|| format!("{}: {found}", line(bytes)));
            }
        }
    }
    if compared == 0 {
        crossing::skip(
            "lengths_flows_and_targets_of_real_code_are_those_of_other_decoders",
            "none of the programs is installed",
        );
        return;
    }
    println!("{compared} instructions compared");
    assert!(differences.is_empty(), "{differences:#?}");
}
