//! Other decoders of A64 over random words and real code: validity and branches equal ours except for known deviations.

use std::collections::BTreeMap;

use claims::a64::{self, PEERS, compare, list};
use crossing::programs::{of_arm64, text};

/// The number of words in an ordinary run. `NTRACE_WORDS` gives that of a long one.
const WORDS: usize = 200_000;

/// Disagreements of all peers, one of a kind.
fn disagreements(words: &[u32]) -> BTreeMap<String, (usize, String)> {
    let mut all = BTreeMap::new();
    let mut note = |found: a64::Disagreement| {
        let kind = format!("{} {:?} {:011b}", found.peer, found.difference, found.word >> 21);
        let (count, _) = all.entry(kind).or_insert_with(|| (0, found.to_string()));
        *count += 1;
    };
    for peer in PEERS {
        words.iter().filter_map(|word| compare(peer.name, *word, (peer.decode)(*word))).for_each(&mut note);
    }
    all
}

#[test]
fn random_words_are_valid_where_other_decoders_say_so_but_for_known_deviations() {
    let count = std::env::var("NTRACE_WORDS").ok().and_then(|count| count.parse().ok()).unwrap_or(WORDS);
    let words: Vec<u32> = a64::words(0x9e37_79b9_7f4a_7c15).take(count).collect();
    let found = disagreements(&words);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn real_code_is_what_other_decoders_say_but_for_known_deviations() {
    let test = "real_code_is_what_other_decoders_say_but_for_known_deviations";
    let programs = of_arm64();
    if programs.is_empty() {
        crossing::skip(test, "no programs of arm64; `cargo xtask setup` brings some, and NTRACE_ARM64_ROOT names them");
        return;
    }
    let mut words = Vec::new();
    for path in programs {
        let text = text(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        words.extend(claims::a64::words_of(&text));
    }
    println!("{} words", words.len());
    words.sort_unstable();
    words.dedup();
    let found = disagreements(&words);
    assert!(!words.is_empty() && found.is_empty(), "{found:#?}");
}

#[test]
fn every_example_differs_as_its_row_says() {
    let mut wrong = Vec::new();
    for row in list() {
        for peer in PEERS.iter().filter(|peer| row.peers.iter().any(|name| name == peer.name)) {
            let answer = (peer.decode)(row.example);
            if !a64::differs(row, peer.name, answer) {
                wrong.push(format!("line {}: {} answers {answer:?}", row.line, peer.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn any_word_has_one_answer() {
    let words: Vec<u8> = a64::words(7).take(200_000).flat_map(u32::to_le_bytes).collect();
    a64::any_word(&words);
}
