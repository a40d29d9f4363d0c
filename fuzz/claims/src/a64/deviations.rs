//! The checked-in list of other decoders' deviations.

use std::fmt;
use std::sync::LazyLock;

use super::peers::{Answer, ours};

/// How a peer's answer differs from ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It refuses what we accept.
    Refuses,
    /// It accepts what we refuse.
    Accepts,
    /// It has another flow or distance.
    Flow,
}

/// One disagreement.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// The peer that differs.
    pub peer: &'static str,
    /// The difference.
    pub difference: Difference,
    /// The word.
    pub word: u32,
    ours: Option<Answer>,
    theirs: Option<Answer>,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disagreement { peer, difference, word, ours, theirs } = self;
        write!(f, "{peer} {difference:?} {word:08x} {word:032b}: ours {ours:?}, theirs {theirs:?}")
    }
}

/// The judge that says that we are right. We never are the judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judge {
    /// The manual allocates the word, or does not.
    Manual,
    /// The manual leaves it to the processor: the row covers such words alone.
    Unpredictable,
    /// Another decoder says what we say.
    Decoder(String),
}

/// The decoders that may be judges.
const DECODERS: [&str; 5] = ["llvm-mc", "binutils", "bad64", "capstone", "yaxpeax-arm"];

/// A row of the list.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its line in the list.
    pub line: usize,
    /// The peers that it is about.
    pub peers: Vec<String>,
    /// Their difference.
    pub difference: Difference,
    mask: u32,
    value: u32,
    /// The reason.
    pub judge: Judge,
    /// A word that it covers.
    pub example: u32,
}

impl Row {
    /// Whether the decoder of that name agrees with us.
    pub fn is_judged_by(&self, name: &str) -> bool {
        matches!(&self.judge, Judge::Decoder(judge) if judge == name)
    }

    /// Whether its pattern has a word.
    pub fn has(&self, word: u32) -> bool {
        (word ^ self.value) & self.mask == 0
    }

    /// The part of all words that its pattern has.
    pub fn part(&self) -> f64 {
        0.5_f64.powi(self.mask.count_ones() as i32)
    }

    /// Whether it says why a peer differs so.
    pub fn covers(&self, peer: &str, difference: Difference, word: u32) -> bool {
        self.difference == difference
            && self.has(word)
            && (self.judge != Judge::Unpredictable || unpredictable(word))
            && self.peers.iter().any(|known| known == peer)
    }
}

static LIST: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let text = include_str!("../../../deviations-a64.txt");
    let lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.split('#').next().unwrap_or("").trim()));
    let rows = lines.filter(|(_, line)| !line.is_empty());
    rows.map(|(number, line)| row(number, line).unwrap_or_else(|| panic!("deviations-a64.txt, line {number}")))
        .collect()
});

/// The list.
pub fn list() -> &'static [Row] {
    &LIST
}

fn row(line: usize, text: &str) -> Option<Row> {
    let mut words = text.split_whitespace();
    let peers = words.next()?.split('|').map(str::to_owned).collect();
    let difference = match words.next()? {
        "refuses" => Difference::Refuses,
        "accepts" => Difference::Accepts,
        "flow" => Difference::Flow,
        _ => return None,
    };
    let pattern = words.next().filter(|pattern| pattern.len() == 32)?;
    let bits = |set: &str| pattern.chars().fold(0u32, |bits, c| bits << 1 | u32::from(set.contains(c)));
    let judge = match (words.next()?, words.next()?) {
        (":", "manual") => Judge::Manual,
        (":", "unpredictable") => Judge::Unpredictable,
        (":", name) if DECODERS.contains(&name) => Judge::Decoder(name.to_owned()),
        _ => return None,
    };
    let example = u32::from_str_radix(words.next()?, 16).ok()?;
    let row = Row { line, peers, difference, mask: bits("01"), value: bits("1"), judge, example };
    words.next().is_none().then_some(row)
}

fn unpredictable(word: u32) -> bool {
    insn::arm64::decode(word).is_ok_and(|insn| insn.is_unpredictable())
}

/// How an answer differs from ours.
pub fn difference(word: u32, theirs: Option<Answer>) -> Option<Difference> {
    match (ours(word), theirs) {
        (None, None) => None,
        (Some(_), None) => Some(Difference::Refuses),
        (None, Some(_)) => Some(Difference::Accepts),
        (Some(ours), Some(theirs)) => (ours != theirs).then_some(Difference::Flow),
    }
}

/// What differs between a peer's answer and ours that the list does not cover.
pub fn compare(peer: &'static str, word: u32, theirs: Option<Answer>) -> Option<Disagreement> {
    let difference = difference(word, theirs)?;
    let known = list().iter().any(|row| row.covers(peer, difference, word));
    (!known).then(|| Disagreement { peer, difference, word, ours: ours(word), theirs })
}

/// Whether a peer's answer for the example of a row differs as the row says.
pub fn differs(row: &Row, peer: &str, theirs: Option<Answer>) -> bool {
    difference(row.example, theirs).is_some_and(|difference| row.covers(peer, difference, row.example))
}
