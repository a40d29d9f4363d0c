//! Exclusive regions, in which a breakpoint would make a store-exclusive always fail.
//!
//! The exception return of a breakpoint clears the exclusive monitor (Arm ARM B2.12). An instruction is in a region if a load-exclusive may
//! have been executed before it and a store-exclusive may follow, with neither another load-exclusive nor an instruction that clears the
//! monitor in between.

use insn::arm64::{Exclusive, Insn, LEN};
use insn::{Flow, Target};

use super::Refusal;
use super::class::decode;

/// Number of words before and after a site that are examined. Regions are shorter: programs should keep them within 128 bytes
/// (Arm ARM B2.12.5).
pub const WINDOW: usize = 63;
/// Number of words that are examined.
const WORDS: usize = 2 * WINDOW + 1;

/// Sets of words, with one bit for each word.
#[derive(Default)]
struct Words {
    loads: u128,
    stores: u128,
    /// Words that clear the monitor, including exceptions and words that are not instructions.
    closes: u128,
    /// Words after which the next word may be executed.
    falls: u128,
}

pub(super) fn refusal(code: &[u32], index: usize, pc: u64) -> Option<Refusal> {
    let start = index.saturating_sub(WINDOW);
    let window = code.get(start..)?;
    let window = window.get(..WORDS).unwrap_or(window);
    let site = index.wrapping_sub(start);
    if !window.iter().any(|word| may_be_exclusive(*word)) {
        return None;
    }
    let unsafe_words = unsafe_words(window);
    if !has(unsafe_words, site) {
        return None;
    }
    let address = |other: usize| {
        let words = (other as i64).wrapping_sub(site as i64);
        pc.wrapping_add_signed(words.wrapping_mul(LEN as i64))
    };
    let free = |at: &usize| !has(unsafe_words, *at);
    Some(Refusal::ExclusiveRegion {
        before: (0..site).rev().find(free).map(address),
        after: (site..window.len()).find(free).map(address),
    })
}

/// Whether a word may be a load-exclusive or store-exclusive. `clrex` alone makes no region.
fn may_be_exclusive(word: u32) -> bool {
    word & 0x3e80_0000 == 0x0800_0000
}

/// Words at which a breakpoint would do harm.
fn unsafe_words(window: &[u32]) -> u128 {
    let mut words = Words::default();
    let mut targets = [None; WORDS];
    for ((at, word), target) in window.iter().enumerate().zip(&mut targets) {
        let bit = bit(at);
        let Some(insn) = decode(*word) else { continue };
        match if may_be_exclusive(*word) || is_clear(*word) { insn.exclusive() } else { None } {
            Some(Exclusive::Load) => words.loads |= bit,
            Some(Exclusive::Store) => words.stores |= bit,
            Some(Exclusive::Clear) => words.closes |= bit,
            None => {}
        }
        // The monitor is clear after an instruction that enters the kernel, and nothing runs after a word that is not an instruction.
        if matches!(insn.flow(), Flow::Next | Flow::ConditionalJump | Flow::Call) {
            words.falls |= bit;
        }
        *target = target_word(&insn, at);
    }
    let opened = opened(&words, &targets);
    opened & awaited(&words, &targets) | words.stores
}

/// Whether a word is `clrex`.
fn is_clear(word: u32) -> bool {
    word & 0xffff_f0ff == 0xd503_305f
}

/// Index of the word that is the target of a direct jump.
fn target_word(insn: &Insn, at: usize) -> Option<usize> {
    match (insn.flow(), insn.target()) {
        (Flow::Jump | Flow::ConditionalJump, Target::Relative(distance)) => {
            usize::try_from((at as i64).wrapping_add(distance / LEN as i64)).ok().filter(|target| *target < WORDS)
        }
        _ => None,
    }
}

/// Words that may be reached with the monitor set.
fn opened(words: &Words, targets: &[Option<usize>; WORDS]) -> u128 {
    let stops = words.stores | words.closes;
    let mut open = 0;
    loop {
        let from = words.loads | open & !stops;
        let mut reached = (from & words.falls) << 1;
        for (at, target) in targets.iter().enumerate() {
            if let Some(target) = target.filter(|_| has(from, at)) {
                reached |= bit(target);
            }
        }
        if reached == open {
            return open;
        }
        open = reached;
    }
}

/// Words from which a store may be reached that needs the monitor set.
fn awaited(words: &Words, targets: &[Option<usize>; WORDS]) -> u128 {
    let stops = words.loads | words.closes;
    let mut awaiting = words.stores;
    loop {
        let mut before = awaiting >> 1 & words.falls;
        for (at, target) in targets.iter().enumerate() {
            if target.is_some_and(|target| has(awaiting, target)) {
                before |= bit(at);
            }
        }
        let more = awaiting | before & !stops;
        if more == awaiting {
            return awaiting;
        }
        awaiting = more;
    }
}

fn bit(at: usize) -> u128 {
    1_u128.wrapping_shl(at as u32)
}

fn has(set: u128, at: usize) -> bool {
    set.wrapping_shr(at as u32) & 1 == 1
}
