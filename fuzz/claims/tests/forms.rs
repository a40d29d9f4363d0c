//! Other decoders over every form of every opcode: their deviations are listed. An ordinary run takes a part of the forms;
//! `NTRACE_FORMS=all` takes all of them.

use std::collections::BTreeMap;

use claims::claims::disagreements;
use claims::corpus::line;
use claims::generate::forms;
use claims::peers::PEERS;
use insn::x86::Mode;

/// An ordinary run takes one form of this number. It shares no factor with the walk's periods.
const STEP: u64 = 1009;

#[test]
fn every_form_is_what_other_decoders_say_but_for_known_deviations() {
    let all = std::env::var_os("NTRACE_FORMS").is_some_and(|value| value == "all");
    let mut unlisted: BTreeMap<String, String> = BTreeMap::new();
    for (name, mode) in [
        ("64-bit, Intel", Mode::INTEL_64),
        ("64-bit, AMD", Mode::AMD_64),
        ("32-bit, Intel", Mode::INTEL_32),
        ("32-bit, AMD", Mode::AMD_32),
    ] {
        let (mut walked, mut compared, before) = (0u64, 0u64, unlisted.len());
        forms(mode.bits, &mut |bytes| {
            walked += 1;
            if !all && walked % STEP != 0 {
                return;
            }
            compared += 1;
            for found in disagreements(bytes, mode) {
                unlisted.entry(found.class()).or_insert_with(|| format!("{}: {found}", line(bytes)));
            }
        });
        assert!(walked > 50_000_000, "{walked} forms in {name} code");
        let figures = format!("compared={compared} peers={} unlisted={}", PEERS.len(), unlisted.len() - before);
        crossing::figure("peers", name, figures);
    }
    assert!(unlisted.is_empty(), "{unlisted:#?}");
}
