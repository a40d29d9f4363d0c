//! Prints what the rows of deviations-a64.txt cover, and proposes narrow rows for a peer's deviations:
//! `cargo run -p claims --features bad64 --example a64_rows -- coverage [WORDS] | propose PEER [WORDS]`.

use claims::a64::{Difference, Judge, PEERS, Peer, difference, list, ours, words};
use crossing::Random;

/// The number of words to try before a row may cover twice as many.
const TRIED: u32 = 48;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, other| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(other);
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["coverage", ..] => coverage(number(1, 100_000)),
        ["propose", peer, ..] => {
            let peer = PEERS.iter().find(|known| known.name == peer).expect("a peer of that name");
            propose(peer, number(2, 100_000));
        }
        _ => eprintln!("usage: a64_rows coverage [WORDS] | propose PEER DIFFERENCE [WORDS]"),
    }
}

/// Prints for each row the share of all words that its pattern covers, and of `count` random words the number of those that differ as the row
/// says and of those in which a fault of ours would pass for the peer's.
fn coverage(count: usize) {
    let mut random = Random::new(7);
    let sample: Vec<u32> = (0..count).map(|_| random.next() as u32).collect();
    println!("line  peers                         kind      part of all   differ   hidden (per million)");
    for peer in PEERS {
        let answers: Vec<(u32, Cell)> = sample.iter().map(|word| (*word, cell(peer, *word))).collect();
        for kind in [Difference::Refuses, Difference::Accepts, Difference::Flow] {
            let rows = || {
                list().iter().filter(|row| {
                    row.difference == kind
                        && row.judge != Judge::Unpredictable
                        && row.peers.iter().any(|p| p == peer.name)
                })
            };
            let is_slack = |word: u32, cell: Cell| cell.is_slack(kind) && rows().any(|row| row.has(word));
            let hidden = answers.iter().filter(|(word, cell)| is_slack(*word, *cell)).count();
            let differ = answers.iter().filter(|(_, cell)| cell.is_good(kind)).count();
            let million = |n: usize| n as f64 * 1e6 / count as f64;
            println!(
                "{} {kind:?}: {} rows, differ {:.1}, hidden {:.1}",
                peer.name,
                rows().count(),
                million(differ),
                million(hidden)
            );
            for row in rows() {
                let part = |of: &dyn Fn(Cell) -> bool| {
                    million(answers.iter().filter(|(word, cell)| row.has(*word) && of(*cell)).count())
                };
                let (differ, hidden) = (part(&|cell| cell.is_good(kind)), part(&|cell| cell.is_slack(kind)));
                println!("{:4}  {:10.1} {differ:10.1} {hidden:10.1}", row.line, row.part() * 1e6);
            }
        }
    }
}

/// Our answer for a word and the peer's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Differs(Difference),
    BothRefuse,
    BothAccept,
    /// The manual leaves it to the processor.
    Unpredictable,
}

impl Cell {
    fn is_good(self, kind: Difference) -> bool {
        self == Cell::Differs(kind)
    }
    /// Whether a row that covers the word would hide a wrong answer of ours.
    fn is_slack(self, kind: Difference) -> bool {
        match kind {
            Difference::Refuses => self == Cell::BothRefuse,
            Difference::Accepts | Difference::Flow => self == Cell::BothAccept,
        }
    }
}

fn cell(peer: &Peer, word: u32) -> Cell {
    let theirs = (peer.decode)(word);
    match difference(word, theirs) {
        Some(Difference::Refuses) if insn::arm64::decode(word).is_ok_and(|insn| insn.is_unpredictable()) => {
            Cell::Unpredictable
        }
        Some(difference) => Cell::Differs(difference),
        None if ours(word).is_some() => Cell::BothAccept,
        None => Cell::BothRefuse,
    }
}

struct Search<'p> {
    peer: &'p Peer,
    kind: Difference,
    random: Random,
}

/// Takes random words that differ, and widens each to a pattern of words that differ in the same way.
fn propose(peer: &Peer, count: usize) {
    let mut random = Random::new(1);
    let sample: Vec<u32> =
        words(0x9e37_79b9_7f4a_7c15).take(count).chain((0..count).map(|_| random.next() as u32)).collect();
    let mut rows: Vec<(Difference, u32, u32, u32)> = Vec::new();
    for word in sample {
        let Cell::Differs(kind) = cell(peer, word) else { continue };
        let is_listed = list().iter().any(|row| row.covers(peer.name, kind, word));
        if is_listed || rows.iter().any(|row| row.0 == kind && (word ^ row.2) & row.1 == 0) {
            continue;
        }
        let mask = Search { peer, kind, random: random.clone() }.widen(word);
        // Rows that the new row covers are not needed.
        rows.retain(|row| row.0 != kind || row.1 & mask != mask || (row.2 ^ word) & mask != 0);
        rows.push((kind, mask, word & mask, word));
    }
    rows.sort_by_key(|row| (row.0 as u8, row.2));
    for (kind, mask, value, word) in rows {
        let bit = |n: u32| if mask >> n & 1 == 0 { '.' } else { char::from(b'0' + (value >> n & 1) as u8) };
        let pattern: String = (0..32).rev().map(bit).collect();
        let name = format!("{kind:?}").to_lowercase();
        print!("{} {name} {pattern} : llvm-mc {word:08x} #", peer.name);
        // Other words that the row covers are printed.
        for other in (0..TRIED / 2).map(|_| value | random.next() as u32 & !mask) {
            if cell(peer, other).is_good(kind) {
                print!(" {other:08x}");
            }
        }
        println!();
    }
}

impl Search<'_> {
    /// The bits of `word` without which the difference vanishes.
    fn widen(&mut self, word: u32) -> u32 {
        let mut mask = u32::MAX;
        for bit in (0..25).chain(29..32) {
            if self.is_alike(word ^ 1 << bit, mask) {
                mask &= !(1 << bit);
            }
        }
        mask
    }

    /// Whether nearly all words with these bits of `word` differ.
    fn is_alike(&mut self, word: u32, mask: u32) -> bool {
        let (mut good, mut slack) = (0, 0);
        for tried in 0..TRIED {
            let word = word & mask | self.random.next() as u32 & !mask;
            let cell = cell(self.peer, word);
            good += u32::from(cell.is_good(self.kind));
            slack += u32::from(cell.is_slack(self.kind));
            if slack * 6 > TRIED || tried == 15 && good == 0 {
                return false;
            }
        }
        good * 8 >= TRIED
    }
}
