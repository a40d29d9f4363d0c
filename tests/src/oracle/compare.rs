//! What the decoder says of an encoding beside what the processor does with it.

use std::collections::BTreeMap;
use std::fmt;

use insn::x86::{Error, Insn, Mode, decode};

use super::explain::{Class, Explanations};
use super::{Child, Outcome};

/// How many examples of each kind of disagreement are kept.
const EXAMPLES: usize = 40;

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Report {
    /// Encodings asked about.
    pub encodings: u64,
    /// Those that the processor executed.
    pub executed: u64,
    /// Those that it decoded and then faulted on.
    pub faulted: u64,
    /// Those that both refuse.
    pub refused: u64,
    /// Accepted by the decoder, #UD on this processor, and explained by the list.
    pub explained: u64,
    /// Not compared, because a hypervisor answers instead of the processor.
    pub excluded: u64,
    /// Decoded by the processor with another length: bytes, our length, its length.
    pub wrong_lengths: Vec<(Vec<u8>, usize, usize)>,
    /// How many had another length.
    pub wrong_length_count: u64,
    /// Decoded by the processor and refused by the decoder: bytes, our error, what the processor did.
    pub rejected: Vec<(Vec<u8>, Error, Outcome)>,
    /// How many were refused.
    pub rejected_count: u64,
    /// Classes that are accepted, #UD here, and not on the list: how often, and an example.
    pub unexplained: BTreeMap<Class, (u64, Vec<u8>)>,
}

impl Report {
    /// Whether everything is explained.
    pub fn is_clean(&self) -> bool {
        self.wrong_length_count == 0 && self.rejected_count == 0 && self.unexplained.is_empty()
    }

    /// The counts as `name=number` words. *wrong*: another length, or decoded by the processor and refused.
    pub fn figures(&self) -> String {
        format!(
            "tried={} executed={} faulted={} undefined={} unexplained={} wrong={}",
            self.encodings - self.excluded,
            self.executed,
            self.faulted,
            self.refused + self.explained,
            self.unexplained.values().map(|(count, _)| count).sum::<u64>(),
            self.wrong_length_count + self.rejected_count
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} encodings: {} executed, {} faulted after decoding, {} refused by both, {} accepted and #UD here as explained, {} excluded",
            self.encodings, self.executed, self.faulted, self.refused, self.explained, self.excluded
        )?;
        writeln!(f, "wrong lengths: {}", self.wrong_length_count)?;
        for (bytes, ours, hardware) in &self.wrong_lengths {
            writeln!(f, "  {} ours {ours} hardware {hardware}", hex(bytes))?;
        }
        writeln!(f, "decoded by the processor and refused: {}", self.rejected_count)?;
        for (bytes, error, outcome) in &self.rejected {
            writeln!(f, "  {} {outcome:?}: {error}", hex(bytes))?;
        }
        writeln!(f, "accepted, #UD and not explained: {} classes", self.unexplained.len())?;
        for (class, (count, bytes)) in &self.unexplained {
            writeln!(f, "  {class}: {count} times, as {}", hex(bytes))?;
        }
        Ok(())
    }
}

/// Compares every encoding.
///
/// # Errors
/// Where the traced child is lost.
pub fn compare(
    child: &mut Child,
    mode: Mode,
    encodings: impl Iterator<Item = [u8; 15]>,
    explanations: &Explanations,
) -> nix::Result<Report> {
    let mut report = Report::default();
    for bytes in encodings {
        report.encodings += 1;
        if excluded(&bytes).is_some() {
            report.excluded += 1;
            continue;
        }
        match decode(&bytes, mode) {
            Ok(insn) => accepted(child, &bytes, &insn, explanations, &mut report)?,
            Err(error) => refused(child, &bytes, error, &mut report)?,
        }
    }
    Ok(report)
}

/// Why the outcome of an encoding says nothing about the processor.
fn excluded(bytes: &[u8]) -> Option<&'static str> {
    let is_prefix =
        |byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
    let rest = bytes.iter().skip_while(|byte| is_prefix(byte));
    let opcode: Vec<u8> = rest.take(3).copied().collect();
    match *opcode {
        [0x0f, 0x01, 0xc1 | 0xd9] => Some("vmcall and vmmcall are answered by a hypervisor, which may patch them"),
        _ => None,
    }
}

fn accepted(
    child: &mut Child,
    bytes: &[u8; 15],
    insn: &Insn,
    explanations: &Explanations,
    report: &mut Report,
) -> nix::Result<()> {
    let ours = insn.len();
    let at_ours = child.probe(bytes, ours)?;
    let (hardware, outcome) = match at_ours {
        Outcome::TooShort => longer(child, bytes, ours)?,
        Outcome::Undefined => (ours, at_ours),
        _ if ours > 1 && child.probe(bytes, ours - 1)? != Outcome::TooShort => shortest(child, bytes)?,
        _ => (ours, at_ours),
    };
    match outcome {
        Outcome::Undefined => {
            let class = Class::of(insn);
            if explanations.explain(&class) {
                report.explained += 1;
            } else {
                report.unexplained.entry(class).or_insert_with(|| (0, insn.bytes().to_vec())).0 += 1;
            }
        }
        Outcome::Executed => report.executed += 1,
        Outcome::Faulted | Outcome::TooShort => report.faulted += 1,
    }
    if outcome != Outcome::Undefined && hardware != ours {
        report.wrong_length_count += 1;
        if report.wrong_lengths.len() < EXAMPLES {
            report.wrong_lengths.push((bytes.to_vec(), ours, hardware));
        }
    }
    Ok(())
}

fn refused(child: &mut Child, bytes: &[u8; 15], error: Error, report: &mut Report) -> nix::Result<()> {
    if child.probe(bytes, bytes.len())? == Outcome::Undefined {
        report.refused += 1;
        return Ok(());
    }
    let (length, outcome) = shortest(child, bytes)?;
    // All fifteen wanted and a fault: the processor refuses what is longer by #GP.
    if length == bytes.len() && outcome != Outcome::Executed {
        report.refused += 1;
        return Ok(());
    }
    report.rejected_count += 1;
    if report.rejected.len() < EXAMPLES {
        report.rejected.push((bytes[..length].to_vec(), error, outcome));
    }
    Ok(())
}

/// The least length that is not too short, and the outcome.
fn shortest(child: &mut Child, bytes: &[u8; 15]) -> nix::Result<(usize, Outcome)> {
    longer(child, bytes, 0)
}

fn longer(child: &mut Child, bytes: &[u8; 15], than: usize) -> nix::Result<(usize, Outcome)> {
    for n in than + 1..=bytes.len() {
        let outcome = child.probe(bytes, n)?;
        if outcome != Outcome::TooShort {
            return Ok((n, outcome));
        }
    }
    Ok((bytes.len(), Outcome::TooShort))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
