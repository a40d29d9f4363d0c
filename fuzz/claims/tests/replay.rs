//! Every claim over the checked-in corpus and a bounded number of random inputs.

use std::path::Path;

use claims::{CLAIMS, Claim, corpus, find, unlisted};
use crossing::Random;

/// The most bytes of a random input. Generators make shorter encodings from it.
const LONGEST: u64 = 600;

fn replay(name: &str) {
    let claim = find(name).expect("a claim of that name");
    let mut inputs = checked_in(claim);
    inputs.push(Vec::new());
    for input in &inputs {
        check(claim, input);
    }
    let mut random = Random::new(1);
    for _ in 0..claim.inputs {
        let mut input = vec![0; random.below(LONGEST) as usize];
        random.fill(&mut input);
        check(claim, &input);
    }
    let unlisted = if name.starts_with("decoders_agree") { unlisted::told() } else { Vec::new() };
    assert!(unlisted.is_empty(), "{unlisted:#?}");
    println!("{name}: {} of the corpus, {} random", inputs.len() - 1, claim.inputs);
}

fn checked_in(claim: &Claim) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus").join(claim.name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    corpus::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Prints the input for which the claim does not hold.
fn check(claim: &Claim, input: &[u8]) {
    if let Err(panic) = std::panic::catch_unwind(|| (claim.check)(input)) {
        eprintln!("{} does not hold for {}", claim.name, corpus::line(input));
        std::panic::resume_unwind(panic);
    }
}

macro_rules! replays {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name));
        })*

        #[test]
        fn every_claim_is_replayed() {
            assert!(CLAIMS.iter().map(|claim| claim.name).eq([$(stringify!($name)),*]));
        }
    };
}

replays! {
    decoding_neither_panics_nor_reads_too_far
    a_batch_finds_what_single_instructions_tell
    decoders_agree_but_for_known_deviations
    slots_do_what_their_originals_do
    slot_addresses_translate_both_ways
    a_table_keeps_what_a_map_keeps
    a_hostile_arena_harms_nobody
    a_hostile_file_gets_an_answer
    a_hostile_recording_gets_an_answer
    a_stream_is_answered_alike_however_it_is_cut
    any_a64_word_has_one_answer
    other_a64_decoders_agree_but_for_known_deviations
}
