//! A decision diagram with shared nodes, made of cubes: sets of words by some of their bits.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

/// The way of words in no cube.
pub(crate) const UNDEFINED: u16 = 0;
/// The order in which bits decide: those first that most encodings have their opcode in. It makes the smallest program of many tried.
const ORDER: [RangeInclusive<u32>; 4] = [21..=31, 10..=15, 16..=20, 0..=9];

/// Mask, value and way; of several that have a word the first counts.
pub(crate) type Cube = (u32, u32, u16);

/// The diagram. A reference below the number of ways is a leaf, else that of a node: the bit that decides, and the references
/// where it is clear and set.
pub(crate) struct Diagram {
    ways: usize,
    numbers: HashMap<(u32, u16, u16), u16>,
    known: HashMap<Vec<Cube>, u16>,
    nodes: Vec<(u32, u16, u16)>,
}

/// What is left of the cubes where the bits of `mask` have `value`.
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
    // Those right before the last that say what it says tell nothing.
    while let [.., (_, _, before), (mask, _, last)] = left[..] {
        if before != last || mask != 0 {
            break;
        }
        left.remove(left.len() - 2);
    }
    left
}

/// The bits in the order in which they decide.
fn order() -> impl Iterator<Item = u32> {
    ORDER.into_iter().flat_map(Iterator::rev)
}

/// How many bits decide before.
fn rank(bit: u32) -> Option<usize> {
    order().position(|other| other == bit)
}

impl Diagram {
    pub(crate) fn new(ways: usize) -> Diagram {
        Diagram { ways, numbers: HashMap::new(), known: HashMap::new(), nodes: Vec::new() }
    }
    /// The reference of what cubes say.
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
    /// The bit that a node asks for and where that leads; nothing of a leaf.
    pub(crate) fn node(&self, reference: u16) -> Option<(u32, u16, u16)> {
        usize::from(reference).checked_sub(self.ways).map(|i| self.nodes[i])
    }
    /// Whether `other` leads every word that `reference` does not leave undefined to the same.
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
    /// The ways of all that is allocated below a reference.
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
    /// The fewest bits that lead from a reference to something allocated.
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
