//! A decision diagram with shared nodes, made of cubes: sets of words by some of their bits.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

/// The way of words in no cube.
pub(crate) const UNDEFINED: u16 = 0;
/// The order in which bits are tested: first those that hold the opcode in most encodings. Of many orders tried it gives the smallest program.
const ORDER: [RangeInclusive<u32>; 4] = [21..=31, 10..=15, 16..=20, 0..=9];

/// Mask, value and way. The first cube that contains a word counts.
pub(crate) type Cube = (u32, u32, u16);

/// The diagram. A reference below the number of ways is a leaf, otherwise a node: the bit that is tested, and the references for a clear
/// and a set bit.
pub(crate) struct Diagram {
    ways: usize,
    numbers: HashMap<(u32, u16, u16), u16>,
    known: HashMap<Vec<Cube>, u16>,
    nodes: Vec<(u32, u16, u16)>,
}

/// The cubes restricted to words whose bits of `mask` have `value`.
pub(crate) fn restrict(cubes: &[Cube], mask: u32, value: u32) -> Vec<Cube> {
    let mut left: Vec<Cube> = Vec::new();
    for (m, v, way) in cubes {
        if (v ^ value) & m & mask != 0 {
            continue;
        }
        let cube = (m & !mask, v & !mask, *way);
        if !left.contains(&cube) {
            left.push(cube);
        }
        if cube.0 == 0 {
            break;
        }
    }
    // Cubes directly before the last with the same way are redundant.
    while let [.., (_, _, before), (mask, _, last)] = left[..] {
        if before != last || mask != 0 {
            break;
        }
        left.remove(left.len() - 2);
    }
    left
}

/// The bits in the order in which they are tested.
fn order() -> impl Iterator<Item = u32> {
    ORDER.into_iter().flat_map(Iterator::rev)
}

/// Number of bits that are tested before.
fn rank(bit: u32) -> Option<usize> {
    order().position(|other| other == bit)
}

impl Diagram {
    pub(crate) fn new(ways: usize) -> Diagram {
        Diagram { ways, numbers: HashMap::new(), known: HashMap::new(), nodes: Vec::new() }
    }
    /// The reference for a list of cubes.
    pub(crate) fn reference(&mut self, cubes: &[Cube]) -> u16 {
        match cubes {
            [] => return UNDEFINED,
            [(0, _, way), ..] => return *way,
            _ => {}
        }
        if let Some(number) = self.known.get(cubes) {
            return *number;
        }
        let told = cubes.iter().fold(0, |all, (mask, ..)| all | mask);
        let Some(bit) = order().find(|bit| told >> bit & 1 == 1) else {
            return UNDEFINED;
        };
        let low = self.reference(&restrict(cubes, 1 << bit, 0));
        let high = self.reference(&restrict(cubes, 1 << bit, 1 << bit));
        let number = if low == high {
            low
        } else {
            *self.numbers.entry((bit, low, high)).or_insert_with(|| {
                self.nodes.push((bit, low, high));
                (self.ways + self.nodes.len() - 1) as u16
            })
        };
        self.known.insert(cubes.to_vec(), number);
        number
    }
    /// The bit that a node tests, and the references for a clear and a set bit; `None` for a leaf.
    pub(crate) fn node(&self, reference: u16) -> Option<(u32, u16, u16)> {
        usize::from(reference).checked_sub(self.ways).map(|i| self.nodes[i])
    }
    /// Whether `other` gives every word that is defined by `reference` the same way.
    pub(crate) fn says_of_all_allocated(&self, reference: u16, other: u16) -> bool {
        let (mut next, mut seen) = (vec![(reference, other)], HashSet::new());
        while let Some(pair @ (one, other)) = next.pop() {
            if one == other || one == UNDEFINED || !seen.insert(pair) {
                continue;
            }
            let (a, b) = (self.node(one), self.node(other));
            let decides = |node: Option<(u32, u16, u16)>| node.and_then(|(bit, ..)| rank(bit));
            let Some(first) = decides(a).into_iter().chain(decides(b)).min() else { return false };
            let both = |node: Option<(u32, u16, u16)>, leaf| match node {
                Some((bit, low, high)) if rank(bit) == Some(first) => (low, high),
                _ => (leaf, leaf),
            };
            let ((low, high), (other_low, other_high)) = (both(a, one), both(b, other));
            next.extend([(low, other_low), (high, other_high)]);
        }
        true
    }
    /// The ways of all allocated words below a reference.
    pub(crate) fn ways_of(&self, reference: u16) -> Vec<u16> {
        let (mut next, mut seen, mut ways) = (vec![reference], Vec::new(), Vec::new());
        while let Some(reference) = next.pop() {
            if seen.contains(&reference) {
                continue;
            }
            seen.push(reference);
            match self.node(reference) {
                Some((_, low, high)) => next.extend([low, high]),
                None if reference != UNDEFINED => ways.push(reference),
                None => {}
            }
        }
        ways
    }
    /// The fewest bits that lead from a reference to an allocated word.
    pub(crate) fn shortest(&self, reference: u16) -> Option<Cube> {
        let mut known = HashMap::new();
        self.shortest_but_for(reference, &mut known).map(|(_, cube)| cube)
    }
    fn shortest_but_for(&self, reference: u16, known: &mut Shortest) -> Option<(u32, Cube)> {
        let Some((bit, low, high)) = self.node(reference) else {
            return (reference != UNDEFINED).then_some((0, (0, 0, reference)));
        };
        if let Some(cube) = known.get(&reference) {
            return *cube;
        }
        let low = self.shortest_but_for(low, known);
        let low = low.map(|(count, (mask, value, way))| (count + 1, (mask | 1 << bit, value, way)));
        let high = self.shortest_but_for(high, known);
        let high = high.map(|(count, (mask, value, way))| (count + 1, (mask | 1 << bit, value | 1 << bit, way)));
        let shortest = low.into_iter().chain(high).min_by_key(|(count, _)| *count);
        known.insert(reference, shortest);
        shortest
    }
}

/// Bits and cubes by reference.
type Shortest = HashMap<u16, Option<(u32, Cube)>>;
