//! Writes a diagram as a program of bytes.

use super::diagram::{Diagram, UNDEFINED};
use std::collections::HashMap;

/// Steps of the program, the same as in insn/src/arm64/decode.rs: bits 4 to 0 number the bit that is asked for.
mod step {
    /// The bit must be clear.
    pub(super) const CLEAR: u8 = 0;
    /// The bit must be set.
    pub(super) const SET: u8 = 0x20;
    /// Goes on elsewhere if the bit is set: two bytes follow.
    pub(super) const IF_SET: u8 = 0x40;
    /// The same if it is clear.
    pub(super) const IF_CLEAR: u8 = 0x60;
    /// Goes on elsewhere: two bytes follow.
    pub(super) const GO: u8 = 0x80;
    /// The way is in the low bits.
    pub(super) const DONE: u8 = 0xa0;
}

/// Writes each node once, followed by one of those it leads to where that was not written before.
pub(crate) struct Writer<'a> {
    diagram: &'a Diagram,
    program: Vec<u8>,
    places: HashMap<u16, usize>,
    /// Places of the two bytes that are to name a reference's place.
    wanted: Vec<(usize, u16)>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(diagram: &'a Diagram) -> Writer<'a> {
        Writer { diagram, program: Vec::new(), places: HashMap::new(), wanted: Vec::new() }
    }
    /// Where the program of a reference begins, which is written unless it was.
    pub(crate) fn write(&mut self, reference: u16) -> u16 {
        let mut next = vec![reference];
        while let Some(reference) = next.pop() {
            self.chain(reference, &mut next);
        }
        self.places[&reference] as u16
    }
    /// Writes what was not written yet from a reference on, and notes where else it leads.
    fn chain(&mut self, mut reference: u16, next: &mut Vec<u16>) {
        if self.places.contains_key(&reference) {
            return;
        }
        loop {
            let Some((bit, low, high)) = self.diagram.node(reference) else {
                self.places.entry(reference).or_insert(self.program.len());
                self.program.push(step::DONE | reference as u8);
                return;
            };
            if self.places.contains_key(&reference) {
                self.program.push(step::GO);
                self.name(reference);
                return;
            }
            self.places.insert(reference, self.program.len());
            let bit = bit as u8;
            if low == UNDEFINED || high == UNDEFINED {
                self.program.push(bit | if high == UNDEFINED { step::CLEAR } else { step::SET });
                reference = if high == UNDEFINED { low } else { high };
                continue;
            }
            let clear = self.places.contains_key(&low) && !self.places.contains_key(&high);
            self.program.push(bit | if clear { step::IF_CLEAR } else { step::IF_SET });
            let (elsewhere, follows) = if clear { (low, high) } else { (high, low) };
            self.name(elsewhere);
            next.push(elsewhere);
            reference = follows;
        }
    }
    fn name(&mut self, reference: u16) {
        self.wanted.push((self.program.len(), reference));
        self.program.extend([0, 0]);
    }
    /// The program.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>, String> {
        for (place, reference) in self.wanted {
            self.program[place..place + 2].copy_from_slice(&(self.places[&reference] as u16).to_le_bytes());
        }
        if self.program.len() > 1 << 16 {
            return Err(format!("a program of {} bytes", self.program.len()));
        }
        Ok(self.program)
    }
}
