//! The hot tables: from a word to its way.
//!
//! The top bits select a class. Most words of a class have a few bits in common; the others are decided by a diagram with shared nodes,
//! written as a program of bytes that insn/src/arm64/decode.rs runs.

use super::classes::{self, Class};
use super::codes::each_way;
use super::diagram::{Cube, Diagram};
use super::parse::Form;
use super::program::Writer;

macro_rules! ways {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal, $flow:ident;)*) => {
        /// Ways in the order of their numbers: attribute, variant of `Way`, variant of `Flow`.
        pub(crate) const WAYS: &[(&str, &str, &str)] = &[$(($text, stringify!($name), stringify!($flow))),*];
    };
}
each_way!(ways);

const NEXT: u16 = 1;
pub(crate) const FAULTING: u16 = 15;

/// The number of a way.
pub(crate) fn way(name: &str) -> Option<u16> {
    WAYS.iter().position(|(n, ..)| *n == name).map(|n| n as u16)
}

/// The name of a way's flow.
pub(crate) fn flow_name(way: u16) -> &'static str {
    WAYS[usize::from(way)].2
}

/// The tables as they are emitted.
pub(crate) struct Hot {
    /// By bits 31 to 21: the number of a class.
    pub(crate) first: Vec<u8>,
    pub(crate) classes: Vec<Class>,
    /// Where the program begins for each class.
    pub(crate) starts: Vec<u16>,
    pub(crate) program: Vec<u8>,
}

/// Builds the tables of all forms.
pub(crate) fn build(forms: &[Form]) -> Result<Hot, String> {
    let cubes: Vec<Cube> = forms
        .iter()
        .map(|form| (form.mask, form.value, form.attrs.iter().find_map(|a| way(a)).unwrap_or(NEXT)))
        .collect();
    let often: Vec<Cube> =
        forms.iter().zip(&cubes).filter(|(form, _)| form.attrs.iter().any(|a| a == OFTEN)).map(|(_, c)| *c).collect();
    let mut diagram = Diagram::new(WAYS.len());
    let (first, classes) = classes::build(&mut diagram, &cubes, &often)?;
    let mut writer = Writer::new(&diagram);
    for class in &classes {
        writer.write(class.reference);
    }
    let program = writer.finish()?;
    let starts = classes.iter().map(|class| program.start(class.reference)).collect();
    Ok(Hot { first, classes, starts, program: program.bytes })
}

/// The attribute of forms that are frequent in compiled code.
pub(crate) const OFTEN: &str = "often";
