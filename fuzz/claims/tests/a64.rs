//! Other decoders of A64 over random words and real code: valid where ours is, with the same branches, but for known deviations.

use std::collections::BTreeMap;

use claims::a64::{self, LLVM, PEERS, compare, list, llvm};
use crossing::programs::{of_arm64, text};

/// Words of an ordinary run; as many as `NTRACE_WORDS` says of a long one.
const WORDS: usize = 200_000;
/// llvm-mc is given so many words at a time.
const CHUNK: usize = 500_000;

/// Disagreements of all peers, one of a kind.
fn disagreements(words: &[u32]) -> BTreeMap<String, (usize, String)> {
    let mut all = BTreeMap::new();
    let mut note = |found: a64::Disagreement| {
        let kind = format!("{} {:?} {:011b}", found.peer, found.difference, found.word >> 21);
        let (count, _) = all.entry(kind).or_insert_with(|| (0, found.to_string()));
        *count += 1;
    };
    for chunk in words.chunks(CHUNK) {
        for peer in PEERS {
            chunk.iter().filter_map(|word| compare(peer.name, *word, (peer.decode)(*word))).for_each(&mut note);
        }
        let answers = llvm(chunk).expect("llvm-mc answers");
        for (word, answer) in chunk.iter().zip(answers.unwrap_or_default()) {
            compare(LLVM, *word, answer).into_iter().for_each(&mut note);
        }
    }
    all
}

fn skip_llvm(test: &str) {
    if llvm(&[0xd503_201f]).is_ok_and(|answers| answers.is_none()) {
        crossing::skip(test, "llvm-mc is not installed; the other decoders were compared");
    }
}

#[test]
fn random_words_are_valid_where_other_decoders_say_so_but_for_known_deviations() {
    skip_llvm("random_words_are_valid_where_other_decoders_say_so_but_for_known_deviations");
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
        words.extend(text.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)));
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
    let examples: Vec<u32> = list().iter().map(|row| row.example).collect();
    let of_llvm = llvm(&examples).expect("llvm-mc answers");
    for (i, row) in list().iter().enumerate() {
        let linked = PEERS.iter().map(|peer| (peer.name, (peer.decode)(row.example)));
        let asked = of_llvm.as_ref().map(|answers| (LLVM, answers[i]));
        for (name, answer) in linked.chain(asked).filter(|(name, _)| row.peers.iter().any(|peer| peer == name)) {
            if !a64::differs(row, name, answer) {
                wrong.push(format!("line {}: {name} answers {answer:?}", row.line));
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
