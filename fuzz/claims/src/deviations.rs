//! Where peers deviate from hardware or manual: the checked-in list, and whether it covers what differs.

use std::fmt;

use insn::x86::{Bits, Error, Mode, Vendor};

use crate::peers::{self, Answer, Peer};
use crate::shape::{Shape, seen};

/// How a peer's answer differs from ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// It refuses what we accept.
    Refuses,
    /// It accepts what we refuse.
    Accepts,
    /// It has another length.
    Length,
    /// It has another flow.
    Flow,
    /// Its branch goes elsewhere.
    Target,
}

impl Difference {
    const ALL: [(&'static str, Difference); 5] = [
        ("refuses", Difference::Refuses),
        ("accepts", Difference::Accepts),
        ("length", Difference::Length),
        ("flow", Difference::Flow),
        ("target", Difference::Target),
    ];
}

/// One disagreement.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// The peer that differs.
    pub peer: &'static str,
    /// In which mode.
    pub mode: Mode,
    /// The difference.
    pub difference: Difference,
    /// What can be seen of the bytes.
    pub shape: Shape,
    /// Our answer.
    pub ours: Result<Answer, Error>,
    /// Its answer.
    pub theirs: Option<Answer>,
}

impl Disagreement {
    /// What is alike in all that one row would cover.
    pub fn class(&self) -> String {
        let Disagreement { peer, mode, difference, shape, ours, .. } = self;
        let why = ours.as_ref().err().map(|error| format!("{:?}", error.kind)).unwrap_or_default();
        format!("{peer}\t{difference:?}\t{why}\t{:?}-{:?}\t{shape}\t{:x}", mode.bits, mode.vendor, shape.seen)
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disagreement { peer, mode, difference, shape, ours, theirs } = self;
        write!(f, "{peer} {:?} {:?} {difference:?} {shape}: ours ", mode.bits, mode.vendor)?;
        match ours {
            Ok(answer) => write!(f, "{answer:x?}")?,
            Err(error) => write!(f, "{error}")?,
        }
        write!(f, ", theirs {theirs:x?}")
    }
}

/// What differs between a peer's answer for the bytes and ours.
pub fn compare(peer: &Peer, bytes: &[u8], mode: Mode) -> Option<Disagreement> {
    let ours = peers::ours(bytes, mode);
    let theirs = (peer.decode)(bytes, mode);
    let difference = match (&ours, &theirs) {
        (Err(_), None) => return None,
        (Ok(_), None) => Difference::Refuses,
        (Err(_), Some(_)) => Difference::Accepts,
        (Ok(ours), Some(theirs)) => differs(ours, theirs)?,
    };
    let shape = Shape::of(bytes, mode.bits)?;
    Some(Disagreement { peer: peer.name, mode, difference, shape, ours, theirs })
}

fn differs(ours: &Answer, theirs: &Answer) -> Option<Difference> {
    use insn::Flow;
    let is_near = |flow| matches!(flow, Some(Flow::Jump | Flow::ConditionalJump | Flow::Call | Flow::Return));
    if ours.len != theirs.len {
        Some(Difference::Length)
    } else if ours.flow != theirs.flow && (theirs.flow.is_some() || is_near(ours.flow)) {
        Some(Difference::Flow)
    } else if ours.target != theirs.target && (ours.target.is_some() || is_near(theirs.flow)) {
        Some(Difference::Target)
    } else {
        None
    }
}

/// The judge that settles a deviation. We never are the judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judge {
    /// A processor executes it so, or raises #UD.
    Hardware,
    /// The vendor's manual, which the row names.
    Manual,
    /// Another decoder or assembler says what we say.
    Decoder(String),
}

/// Those that are no peers here but may be judges.
const DECODERS: [&str; 4] = ["llvm-mc", "binutils", "XED", "bddisasm"];
/// How a row of which a manual is the judge names it.
const MANUALS: [&str; 6] = ["SDM", "APM", "APX", "AVX10", "ISE", "PadLock"];

/// A row of the list.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its line in the list.
    pub line: usize,
    peers: Vec<String>,
    bits: Option<Bits>,
    vendor: Option<Vendor>,
    /// How the peers differ.
    pub difference: Difference,
    encoding: Option<String>,
    maps: (u8, u8),
    prefix: Option<String>,
    opcodes: Vec<(u8, u8)>,
    conditions: Vec<String>,
    /// The judge that says that the peers are wrong.
    pub judge: Judge,
    /// An encoding that it covers.
    pub example: Vec<u8>,
}

/// Reads the list; its head explains its form.
///
/// # Errors
/// The line that is not understood, and why.
pub fn read(text: &str) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let (line, why) = line.split_once('#').unwrap_or((line, ""));
        if !line.trim().is_empty() {
            rows.push(row(number + 1, line.trim(), why).map_err(|what| format!("line {}: {what}", number + 1))?);
        }
    }
    Ok(rows)
}

fn row(line: usize, text: &str, why: &str) -> Result<Row, String> {
    let (pattern, verdict) = text.split_once(':').ok_or("no colon before the judge")?;
    let mut words = pattern.split_whitespace();
    let mut next = |what: &str| words.next().ok_or(format!("no {what}"));
    let peers = next("peer")?.split('|').map(str::to_owned).collect();
    let (bits, vendor) = mode(next("mode")?)?;
    let word = next("difference")?;
    let difference = Difference::ALL.iter().find(|(name, _)| *name == word).ok_or(format!("no difference: {word}"))?.1;
    let encoding = Some(next("encoding")?.to_owned()).filter(|word| word != "*");
    let maps = range(next("map")?, 10, (0, 31))?;
    let prefix = Some(next("prefix")?.to_owned()).filter(|word| word != "*");
    let opcodes = ranges(next("opcode")?, 16, (0, 0xff))?;
    let conditions: Vec<String> = words.map(str::to_owned).collect();
    if let Some(word) = conditions.iter().find(|word| !is_condition(word)) {
        return Err(format!("no condition: {word}"));
    }
    let (judge, example) = verdict.trim().split_once(' ').ok_or("no example")?;
    let judge = match judge {
        "hardware" => Judge::Hardware,
        "manual" if MANUALS.iter().any(|manual| why.contains(manual)) => Judge::Manual,
        "manual" => return Err(format!("no manual is named: {why}")),
        name if DECODERS.contains(&name) || peers::NAMES.contains(&name) => Judge::Decoder(name.to_owned()),
        other => return Err(format!("no judge: {other}")),
    };
    let example = crate::corpus::bytes(example.trim()).ok_or("the example is not hexadecimal")?;
    Ok(Row { line, peers, bits, vendor, difference, encoding, maps, prefix, opcodes, conditions, judge, example })
}

fn mode(word: &str) -> Result<(Option<Bits>, Option<Vendor>), String> {
    let (bits, vendor) = word.split_once('-').map_or((word, None), |(bits, vendor)| (bits, Some(vendor)));
    let bits = match bits {
        "*" => None,
        "64" => Some(Bits::B64),
        "32" => Some(Bits::B32),
        "16" => Some(Bits::B16),
        _ => return Err(format!("no mode: {word}")),
    };
    match vendor {
        None => Ok((bits, None)),
        Some("intel") => Ok((bits, Some(Vendor::Intel))),
        Some("amd") => Ok((bits, Some(Vendor::Amd))),
        _ => Err(format!("no mode: {word}")),
    }
}

fn range(word: &str, radix: u32, all: (u8, u8)) -> Result<(u8, u8), String> {
    if word == "*" {
        return Ok(all);
    }
    let number = |text: &str| u8::from_str_radix(text, radix).map_err(|_| format!("no number: {word}"));
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Ok((number(first)?, number(last)?))
}

fn ranges(list: &str, radix: u32, all: (u8, u8)) -> Result<Vec<(u8, u8)>, String> {
    list.split(',').map(|part| range(part, radix, all)).collect()
}

/// Whether a list of digits and ranges holds a number; nothing where it is no such list.
fn is_in(list: &str, number: u8) -> Option<bool> {
    let ranges = ranges(list, 10, (0, 7)).ok()?;
    Some(ranges.iter().any(|(first, last)| (first..=last).contains(&&number)))
}

impl Row {
    /// Whether it says why the two differ.
    pub fn covers(&self, found: &Disagreement) -> bool {
        let Disagreement { mode, shape, .. } = found;
        self.peers.iter().any(|peer| peer == found.peer)
            && self.difference == found.difference
            && self.bits.is_none_or(|bits| bits == mode.bits)
            && self.vendor.is_none_or(|vendor| vendor == mode.vendor)
            && self.encoding.as_ref().is_none_or(|encoding| encoding == shape.encoding)
            && (self.maps.0..=self.maps.1).contains(&shape.map)
            && self.prefix.as_ref().is_none_or(|prefix| prefix == shape.prefix)
            && self.opcodes.iter().any(|(first, last)| (first..=last).contains(&&shape.opcode))
            && self.conditions.iter().all(|word| holds(word, found).unwrap_or(false))
    }

    /// Whether it says something of a peer of that name.
    pub fn is_about(&self, name: &str) -> bool {
        self.peers.iter().any(|peer| peer == name)
    }

    /// Whether the decoder of that name agrees with us.
    pub fn is_judged_by(&self, name: &str) -> bool {
        matches!(&self.judge, Judge::Decoder(judge) if judge == name)
    }

    /// Modes that it is about, as Intel and as AMD reads them.
    pub fn modes(&self) -> impl Iterator<Item = Mode> + '_ {
        let sizes =
            [Bits::B64, Bits::B32, Bits::B16].into_iter().filter(|bits| self.bits.is_none_or(|own| own == *bits));
        let vendors = [Vendor::Intel, Vendor::Amd];
        let modes = sizes.flat_map(move |bits| vendors.map(|vendor| Mode::new(bits, vendor)));
        modes.filter(|mode| self.vendor.is_none_or(|vendor| vendor == mode.vendor))
    }

    /// Peers that it is about and that are built, and modes that they know.
    pub fn cases(&self) -> impl Iterator<Item = (&'static Peer, Mode)> + '_ {
        let peers = peers::PEERS.iter().filter(|peer| self.is_about(peer.name));
        peers.flat_map(|peer| self.modes().filter(|mode| mode.bits != Bits::B16).map(move |mode| (peer, mode)))
    }
}

fn is_condition(word: &str) -> bool {
    let shape = Shape::of(&[0x90, 0x90], Bits::B64).expect("two bytes are enough");
    let ours = Err(insn::x86::decode(&[], Mode::INTEL_64).expect_err("nothing is no instruction"));
    let found =
        Disagreement { peer: "", mode: Mode::INTEL_64, difference: Difference::Accepts, shape, ours, theirs: None };
    holds(word, &found).is_some()
}

/// Whether a condition holds; nothing where there is none of that name.
fn holds(word: &str, found: &Disagreement) -> Option<bool> {
    use insn::x86::ErrorKind;
    let shape = &found.shape;
    let is = |bit: u8| shape.seen & bit != 0;
    let refused = |kind| found.ours.as_ref().is_err_and(|error| error.kind == kind);
    Some(match word {
        "w0" => !shape.w,
        "w1" => shape.w,
        "r" => shape.is_register(),
        "m" => !shape.is_register(),
        "lock" => is(seen::LOCK),
        "nolock" => !is(seen::LOCK),
        "p66" => is(seen::OPERAND_SIZE),
        "p67" => is(seen::ADDRESS_SIZE),
        "rep" => is(seen::REPEAT),
        "rex" => is(seen::REX),
        "lost-rex" => is(seen::LOST_REX),
        "apx" => is(seen::APX),
        "noapx" => !is(seen::APX),
        "norex" => !is(seen::REX),
        "vvvv" => shape.vvvv != 15,
        "wrong-opcode" => refused(ErrorKind::Opcode),
        "wrong-lock" => refused(ErrorKind::Lock),
        "wrong-prefix" => refused(ErrorKind::Prefix),
        "wrong-field" => refused(ErrorKind::Reserved),
        "wrong-operand" => refused(ErrorKind::Operand),
        "same-register" => refused(ErrorKind::SameRegister),
        "mvex" => refused(ErrorKind::Mvex),
        _ => match word.split_at_checked(1)? {
            ("/", list) => is_in(list, shape.modrm >> 3 & 7)?,
            ("r", list) => is_in(list, shape.modrm & 7)? && shape.is_register(),
            ("l", list) => is_in(list, shape.length)?,
            _ => return None,
        },
    })
}
