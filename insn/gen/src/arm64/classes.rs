//! Classes of words by their top bits, and the bits that most words of a class have in common.

use super::diagram::{Cube, Diagram, UNDEFINED, restrict};

/// Bits 31 to 21 are looked up at once.
const FIRST_BITS: u32 = 11;
/// Mask and value of words whose bits 23 to 21 are ignored: SME, which would have too many classes.
const COARSE: (u32, u32) = (0x9e00_0000, 0x8000_0000);
/// The most sets of words that are tried before the program runs: the first inline, the others out of line.
const MOST: usize = 6;

/// A class.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Class {
    /// Sets of words that have one way.
    pub(crate) quick: Vec<Cube>,
    /// The ways of all its words that are allocated.
    pub(crate) ways: Vec<u16>,
    /// Reference in the diagram.
    pub(crate) reference: u16,
}

/// The class of each value of the top bits, and the classes.
pub(crate) fn build(diagram: &mut Diagram, all: &[Cube], often: &[Cube]) -> Result<(Vec<u8>, Vec<Class>), String> {
    let mut classes: Vec<Class> = Vec::new();
    let mut first = Vec::new();
    for top in 0..1u32 << FIRST_BITS {
        let (value, top_mask) = (top << (32 - FIRST_BITS), !0 << (32 - FIRST_BITS));
        let mask = if value & COARSE.0 == COARSE.1 { 0xff00_0000 } else { top_mask };
        let cubes = restrict(all, mask, value);
        let reference = diagram.reference(&cubes);
        let often: Vec<Cube> = restrict_each(often, mask, value);
        let class = Class { quick: quick(diagram, &cubes, &often), ways: diagram.ways_of(reference), reference };
        let number = classes.iter().position(|other| *other == class).unwrap_or_else(|| {
            classes.push(class);
            classes.len() - 1
        });
        first.push(u8::try_from(number).map_err(|_| "more than 256 classes")?);
    }
    Ok((first, classes))
}

/// The cubes that contain words whose bits of `mask` have `value`, without these bits.
fn restrict_each(cubes: &[Cube], mask: u32, value: u32) -> Vec<Cube> {
    let fits = cubes.iter().filter(|(m, v, _)| (v ^ value) & m & mask == 0);
    fits.map(|(m, v, way)| (m & !mask, v & !mask, *way)).collect()
}

/// The largest sets of one way in `cubes`, first those with words of `often`. Without such words there is only one set.
fn quick(diagram: &mut Diagram, cubes: &[Cube], often: &[Cube]) -> Vec<Cube> {
    let mut left = cubes.to_vec();
    let mut quick = Vec::new();
    while quick.len() < MOST {
        let mut found = often.iter().find_map(|(mask, value, _)| {
            let reference = diagram.reference(&restrict(&left, *mask, *value));
            let (m, v, way) = diagram.shortest(reference)?;
            Some((m | mask, v | value, way))
        });
        if found.is_none() && quick.is_empty() {
            let reference = diagram.reference(&left);
            found = diagram.shortest(reference);
        }
        let Some(cube) = found else { break };
        let cube = widened(diagram, cubes, cube);
        quick.push(cube);
        left.insert(0, (cube.0, cube.1, UNDEFINED));
    }
    quick
}

/// The cube without bits that its way does not depend on.
fn widened(diagram: &mut Diagram, cubes: &[Cube], (mut mask, mut value, way): Cube) -> Cube {
    for bit in (0..32).map(|bit| 1u32 << bit) {
        let (m, v) = (mask & !bit, value & !bit);
        if diagram.reference(&restrict(cubes, m, v)) == way {
            (mask, value) = (m, v);
        }
    }
    (mask, value, way)
}
