//! Other decoders over the code of programs found here: lengths, flows and targets are ours but for known deviations.

use std::collections::BTreeMap;
use std::path::Path;

use claims::claims::disagreements;
use claims::corpus::line;
use insn::x86::{Mode, decode};
use object::{Object, ObjectSection};

/// Found on any Debian, or not: each alone is enough.
const PROGRAMS: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/bin/bash",
    "/usr/bin/gdb",
    "/usr/bin/git",
    "/usr/bin/perf",
    "/usr/bin/python3.11",
];
/// Of larger programs every so-manyth instruction is compared: capstone takes a microsecond for each.
const MOST: usize = 400_000;

fn code(path: &str) -> Option<Vec<u8>> {
    let file = std::fs::read(Path::new(path)).ok()?;
    let object = object::File::parse(&*file).ok()?;
    Some(object.section_by_name(".text")?.data().ok()?.to_vec())
}

#[test]
fn lengths_flows_and_targets_of_real_code_are_those_of_other_decoders() {
    let mut differences: BTreeMap<String, String> = BTreeMap::new();
    let mut compared = 0u64;
    for code in PROGRAMS.iter().filter_map(|path| code(path)) {
        let step = (code.len() / 4).div_ceil(MOST).max(1);
        let (mut at, mut count) = (0, 0usize);
        while let Some(bytes) = code.get(at..at + 15) {
            at += decode(bytes, Mode::INTEL_64).map_or(1, |insn| insn.len());
            count += 1;
            if !count.is_multiple_of(step) {
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
