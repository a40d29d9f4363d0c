//! A tree of choices that leads from a word to the number of a record.
//!
//! The top bits select a node. A node names a field of the word and a list with an item for each value of the field. An item is the number of a
//! record or of a further node. Words that are no instruction have any record.

use std::collections::HashMap;

use super::codes::tree::{self, NODE};

/// The number of top bits that select the first node.
pub(crate) const TOP: u32 = 11;
/// The greatest width of a field.
const WIDTH: u32 = 5;

/// Mask, value and record. The first that contains a word counts.
pub(crate) type Cube = (u32, u32, u16);

/// The tree as it is emitted.
#[derive(Default)]
pub(crate) struct Tree {
    /// By top bits: the number of a node.
    pub(crate) starts: Vec<u16>,
    pub(crate) nodes: Vec<u32>,
    /// Items of all nodes.
    pub(crate) lists: Vec<u16>,
    known: HashMap<Vec<Cube>, u16>,
}

/// The cubes of the words whose bits of `mask` have `value`, without these bits.
fn restrict(cubes: &[Cube], mask: u32, value: u32) -> Vec<Cube> {
    let mut left: Vec<Cube> = Vec::new();
    for (m, v, record) in cubes {
        if (v ^ value) & m & mask != 0 {
            continue;
        }
        let (m, v) = (m & !mask, v & !mask);
        // A cube within an earlier one has no word.
        if left.iter().all(|(mask, value, _)| mask & !m != 0 || (v ^ value) & mask != 0) {
            left.push((m, v, *record));
        }
    }
    left
}

/// The number of records among cubes.
fn records(cubes: &[Cube]) -> usize {
    let mut records: Vec<u16> = cubes.iter().map(|(.., record)| *record).collect();
    records.sort_unstable();
    records.dedup();
    records.len()
}

/// Builds the tree of all cubes.
pub(crate) fn build(cubes: &[Cube]) -> Result<Tree, String> {
    let mut tree = Tree::default();
    for top in 0..1 << TOP {
        let item = tree.item(&restrict(cubes, !0 << (32 - TOP), top << (32 - TOP)))?;
        let start = if item & NODE == 0 { tree.node(0, 0, &[item])? } else { item };
        tree.starts.push(start & !NODE);
    }
    Ok(tree)
}

impl Tree {
    /// The item for the words of the cubes.
    fn item(&mut self, cubes: &[Cube]) -> Result<u16, String> {
        match records(cubes) {
            0 => return Ok(0),
            1 => return Ok(cubes[0].2),
            _ => {}
        }
        if let Some(item) = self.known.get(cubes) {
            return Ok(*item);
        }
        let told = cubes.iter().fold(0, |all, (mask, ..)| all | mask);
        let mut best: Option<(usize, u32, u32, Vec<Vec<Cube>>)> = None;
        for width in 1..=WIDTH {
            for low in (0..=32 - TOP - width).filter(|low| told >> low & 1 == 1 && told >> (low + width - 1) & 1 == 1) {
                let mask = ((1 << width) - 1) << low;
                let parts: Vec<_> = (0..1 << width).map(|value| restrict(cubes, mask, value << low)).collect();
                let cost = cost(&parts);
                if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                    best = Some((cost, low, width, parts));
                }
            }
        }
        let (_, low, width, parts) = best.ok_or("forms that no field separates")?;
        let items = parts.iter().map(|part| self.item(part)).collect::<Result<Vec<u16>, String>>()?;
        let item = self.node(low, width, &items)?;
        self.known.insert(cubes.to_vec(), item);
        Ok(item)
    }
    /// A node of the field of `width` bits from bit `low` on.
    fn node(&mut self, low: u32, width: u32, items: &[u16]) -> Result<u16, String> {
        let found = self.lists.windows(items.len()).position(|window| window == items);
        let start = found.unwrap_or_else(|| {
            self.lists.extend(items);
            self.lists.len() - items.len()
        });
        let start = u16::try_from(start).map_err(|_| "too many items")?;
        let node = low << tree::POSITION | ((1 << width) - 1) << tree::MASK | u32::from(start);
        let number = self.nodes.iter().position(|other| *other == node).unwrap_or_else(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        });
        u16::try_from(number).ok().filter(|number| number & NODE == 0).map(|n| n | NODE).ok_or("too many nodes".into())
    }
}

/// An estimate of the bytes that a node with these parts takes, the nodes below it included.
fn cost(parts: &[Vec<Cube>]) -> usize {
    let mut different: Vec<&Vec<Cube>> = Vec::new();
    for part in parts {
        if !different.contains(&part) {
            different.push(part);
        }
    }
    let below = different.into_iter().map(|part| (records(part).max(1) - 1) * 8 + part.len().max(1) - 1);
    4 + 2 * parts.len() + below.sum::<usize>()
}
