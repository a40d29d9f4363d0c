//! The list of peers' deviations is true: every row's example still differs as the row says, and if the processor is the judge
//! it confirms the row.

use claims::claims::list;
use claims::deviations::{Difference, Judge, Row, compare};
use claims::peers::PEERS;
use insn::x86::{Bits, Mode};

/// Bytes that follow an example, so that every decoder has enough.
fn padded(example: &[u8]) -> [u8; 15] {
    let mut bytes = [0; 15];
    for (to, from) in bytes.iter_mut().zip(example) {
        *to = *from;
    }
    bytes
}

/// The modes in which the row's example differs as the row says.
fn modes(row: &Row) -> Vec<Mode> {
    let bytes = padded(&row.example);
    let cases = row.cases().filter(|(peer, mode)| compare(peer, &bytes, *mode).is_some_and(|found| row.covers(&found)));
    cases.map(|(_, mode)| mode).collect()
}

#[test]
fn every_example_differs_as_its_row_says() {
    let mut wrong = Vec::new();
    for row in list() {
        let built = row.cases().next().is_some();
        if built && modes(row).is_empty() {
            wrong.push(format!("line {}: no peer differs so", row.line));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_peer_that_is_the_judge_says_what_we_say() {
    let mut wrong = Vec::new();
    for row in list() {
        let bytes = padded(&row.example);
        for judge in PEERS.iter().filter(|peer| row.is_judged_by(peer.name)) {
            let agrees = |mode: Mode| mode.bits != Bits::B16 && compare(judge, &bytes, mode).is_none();
            if row.is_about(judge.name) || !row.modes().any(agrees) {
                wrong.push(format!("line {}: {} says otherwise", row.line, judge.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_processor_judges_as_the_list_says() {
    use crossing::oracle::{Child, Class, Explanations, Outcome, vendor};
    use insn::x86::decode;

    let test = "the_processor_judges_as_the_list_says";
    let explanations = Explanations::read(include_str!("../../../tests/oracle-ud.txt")).expect("oracle-ud.txt");
    let (mut wrong, mut unjudged) = (Vec::new(), 0);
    for bits in [Bits::B64, Bits::B32] {
        let Ok(mut child) = Child::start(bits) else {
            crossing::skip(test, format_args!("no traced child with {bits:?} code"));
            continue;
        };
        for row in list().iter().filter(|row| row.judge == Judge::Hardware) {
            let Some(mode) = modes(row).into_iter().find(|mode| mode.bits == bits && mode.vendor == vendor()) else {
                continue;
            };
            let bytes = padded(&row.example);
            let lengths = (1..=15).map(|n| (n, child.probe(&bytes, n).expect("the child lives")));
            let (length, outcome) = { lengths }.find(|(_, outcome)| *outcome != Outcome::TooShort).expect("an answer");
            let ours = decode(&bytes, mode);
            if outcome == Outcome::Undefined && ours.is_ok_and(|insn| explanations.explain(&Class::of(&insn))) {
                unjudged += 1;
                continue;
            }
            let holds = match row.difference {
                // Some of the vendor's processors ignore what others do not.
                Difference::Accepts => outcome == Outcome::Undefined || decode(&bytes, mode.lenient()).is_ok(),
                Difference::Flow if outcome == Outcome::Undefined => true,
                _ => outcome != Outcome::Undefined && ours.is_ok_and(|insn| insn.len() == length),
            };
            if !holds {
                wrong.push(format!("line {}: {outcome:?} after {length} bytes in {bits:?}", row.line));
            }
        }
    }
    if unjudged > 0 {
        crossing::skip(test, format_args!("{unjudged} rows: this processor lacks what they are about"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
