//! Writes a diagram as a program of bytes.

use super::codes::step;
use super::diagram::{Diagram, UNDEFINED};
use std::collections::HashMap;

/// Bytes that a step which goes on elsewhere can name.
const MOST: usize = 1 << 13;
const TOO_LONG: &str = "the program has more than 8192 bytes";

/// The first byte of a step.
fn first(step: u8, low: u8) -> u8 {
    step << step::POSITION | low
}

/// A step before its offset is known.
enum Step {
    /// A complete step of one byte.
    Byte(u8),
    /// Goes on at the code of a reference.
    Go { to: u16 },
    /// Goes on at the code of a reference if a bit is set, or clear.
    GoIf { bit: u8, clear: bool, to: u16 },
}

/// Writes each node once, followed by one of its successors unless that was written before.
pub(crate) struct Writer<'a> {
    diagram: &'a Diagram,
    steps: Vec<Step>,
    /// The first step of each reference.
    begins: HashMap<u16, usize>,
}

/// The program, and its start for each reference.
pub(crate) struct Program {
    pub(crate) bytes: Vec<u8>,
    places: HashMap<u16, u16>,
}

impl Program {
    pub(crate) fn start(&self, reference: u16) -> u16 {
        self.places[&reference]
    }
}

impl<'a> Writer<'a> {
    pub(crate) fn new(diagram: &'a Diagram) -> Writer<'a> {
        Writer { diagram, steps: Vec::new(), begins: HashMap::new() }
    }
    /// Writes the program of a reference, unless it was written before.
    pub(crate) fn write(&mut self, reference: u16) {
        let mut next = vec![reference];
        while let Some(reference) = next.pop() {
            self.chain(reference, &mut next);
        }
    }
    /// Writes nodes from a reference on that were not written yet, and notes their other successors.
    fn chain(&mut self, mut reference: u16, next: &mut Vec<u16>) {
        if self.begins.contains_key(&reference) {
            return;
        }
        loop {
            let Some((bit, low, high)) = self.diagram.node(reference) else {
                self.begins.entry(reference).or_insert(self.steps.len());
                self.steps.push(Step::Byte(first(step::DONE, reference as u8)));
                return;
            };
            if self.begins.contains_key(&reference) {
                self.steps.push(Step::Go { to: reference });
                return;
            }
            self.begins.insert(reference, self.steps.len());
            let bit = bit as u8;
            if low == UNDEFINED || high == UNDEFINED {
                self.steps.push(Step::Byte(first(if high == UNDEFINED { step::CLEAR } else { step::SET }, bit)));
                reference = if high == UNDEFINED { low } else { high };
                continue;
            }
            let clear = self.begins.contains_key(&low) && !self.begins.contains_key(&high);
            let (to, follows) = if clear { (low, high) } else { (high, low) };
            self.steps.push(Step::GoIf { bit, clear, to });
            next.push(to);
            reference = follows;
        }
    }
    /// The program, with skips wherever one byte can hold the distance.
    pub(crate) fn finish(self) -> Result<Program, String> {
        let mut skips = vec![false; self.steps.len()];
        let places = loop {
            let places = self.places(&skips);
            let reach: Vec<bool> = (0..skips.len()).map(|i| self.skipped(&places, i).is_some()).collect();
            // Shorter steps only shorten distances.
            if reach == skips {
                break places;
            }
            skips = reach;
        };
        let mut bytes = Vec::new();
        for (i, step) in self.steps.iter().enumerate() {
            let place = |to| u16::try_from(places[self.begins[to]]).map_err(|_| TOO_LONG);
            match step {
                Step::Byte(byte) => bytes.push(*byte),
                Step::Go { to } => {
                    let [high, low] = place(to)?.to_be_bytes();
                    bytes.extend([first(step::GO, high), low]);
                }
                Step::GoIf { bit, clear, to } => match self.skipped(&places, i) {
                    Some(skipped) => bytes.extend([first(step::SKIP_IF_SET, *bit), skipped]),
                    None => {
                        bytes.push(first(if *clear { step::IF_CLEAR } else { step::IF_SET }, *bit));
                        bytes.extend(place(to)?.to_le_bytes());
                    }
                },
            }
        }
        if bytes.len() > MOST {
            return Err(TOO_LONG.to_owned());
        }
        let places = self.begins.iter().map(|(reference, step)| (*reference, places[*step] as u16)).collect();
        Ok(Program { bytes, places })
    }
    /// The offset of each step, and of the end.
    fn places(&self, skips: &[bool]) -> Vec<usize> {
        let mut places = vec![0];
        for (step, skip) in self.steps.iter().zip(skips) {
            let length = match step {
                Step::Byte(_) => 1,
                Step::Go { .. } => 2,
                Step::GoIf { .. } => 3 - usize::from(*skip),
            };
            places.push(places[places.len() - 1] + length);
        }
        places
    }
    /// The number of bytes that a step skips, if one byte can hold it.
    fn skipped(&self, places: &[usize], i: usize) -> Option<u8> {
        // Jumps on a clear bit go backwards.
        let Step::GoIf { clear: false, to, .. } = &self.steps[i] else { return None };
        places[self.begins[to]].checked_sub(places[i + 1])?.try_into().ok()
    }
}
