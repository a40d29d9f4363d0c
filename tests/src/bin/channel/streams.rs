//! Streams of commands: valid ones, made from wire's declarations, and random changes of them.

use crossing::Random;
use wire::commands::{DECLARATIONS, option};
use wire::site::{Base, Condition, Memory, Relation, Site, Subject, action};
use wire::{Field, Header, Kind, encode, flag};

/// The possible meanings of a command's words.
#[derive(Default)]
pub(crate) struct Known {
    /// Numbers of processes that are there, or were.
    pub(crate) processes: Vec<u64>,
    /// What attaching was answered with.
    pub(crate) debuggees: Vec<u64>,
    /// Addresses with something at them, or where something happens.
    pub(crate) addresses: Vec<u64>,
    /// Threads run these instructions, so most written bytes are valid.
    pub(crate) are_sites: bool,
}

/// Numbers at which arithmetic goes wrong.
const EDGES: [u64; 14] = [
    0,
    1,
    7,
    4095,
    4096,
    u16::MAX as u64,
    i32::MAX as u64,
    u32::MAX as u64,
    1 << 47,
    0x7fff_ffff_f000,
    0xffff_8880_0000_0000,
    0xffff_ffff_ff60_0000,
    i64::MAX as u64,
    u64::MAX,
];
/// The most bytes of a blob by chance.
const BLOB: u64 = 20_000;

/// Some commands, half of the time with something wrong in them.
pub(crate) fn stream(random: &mut Random, known: &Known) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..=random.below(12) {
        command(random, known, &mut bytes);
    }
    if random.chance(if known.are_sites { 4 } else { 50 }) {
        for _ in 0..=random.below(3) {
            mutate(random, &mut bytes);
        }
    }
    bytes
}

fn command(random: &mut Random, known: &Known, bytes: &mut Vec<u8>) {
    // What has nothing to work on answers little.
    let number = random.below(DECLARATIONS.len() as u64) as usize;
    let declaration = if known.debuggees.is_empty() && random.chance(50) {
        DECLARATIONS.iter().find(|declaration| declaration.name == "attach").unwrap_or(&DECLARATIONS[number])
    } else {
        &DECLARATIONS[number]
    };
    let mut words = Vec::new();
    let mut blobs = Vec::new();
    for field in declaration.fields {
        match field.kind {
            Kind::Word => words.push(word(random, known, field.name)),
            Kind::Blob => blobs.push(blob(random, known, field.name)),
        }
    }
    let (mut words, mut blobs) = (words.into_iter(), blobs.iter());
    let fields: Vec<Field<'_>> = declaration
        .fields
        .iter()
        .map(|field| match field.kind {
            Kind::Word => Field::Word(words.next().unwrap_or_default()),
            Kind::Blob => Field::Blob(blobs.next().map_or(&[], Vec::as_slice)),
        })
        .collect();
    let flags = if random.chance(20) { flag::THEN } else { 0 };
    let header = Header { code: declaration.code, flags, tag: random.next() };
    assert_eq!(encode(bytes, header, &fields), Ok(()));
}

/// A value that fits the field's name, most of the time.
fn word(random: &mut Random, known: &Known, name: &str) -> u64 {
    if random.one_in(12) {
        return any(random);
    }
    match name {
        "process" | "thread" => one_of(random, &known.processes),
        "debuggee" => one_of(random, &known.debuggees),
        "address" => address(random, known),
        "length" if random.one_in(40) => 1 << random.below(24),
        "length" => random.below(10_000),
        "options" => random.next() & option::ALL,
        _ => any(random),
    }
}

/// `lret` and `iret`, which have no place in what is written over code: QEMU before 9.1 reads a program's stack for them as the kernel
/// would, and where nothing is there the kernel ends, with or without the module.
pub(crate) const FAR_RETURNS: [u8; 3] = [0xca, 0xcb, 0xcf];

fn blob(random: &mut Random, known: &Known, name: &str) -> Vec<u8> {
    let length = if random.one_in(8) { random.below(BLOB) } else { random.below(200) };
    match name {
        "sites" if random.chance(90) => (0..length / 8).flat_map(|_| site(random, known).bytes()).collect(),
        "addresses" if random.chance(90) => {
            (0..length / 8).flat_map(|_| address(random, known).to_ne_bytes()).collect()
        }
        _ => {
            let mut bytes = vec![0; length as usize];
            random.fill(&mut bytes);
            bytes.iter_mut().filter(|byte| FAR_RETURNS.contains(byte)).for_each(|byte| *byte = 0);
            bytes
        }
    }
}

fn site(random: &mut Random, known: &Known) -> Site {
    let subject = match random.below(3) {
        0 => Subject::Register(random.below(40) as u16),
        1 => Subject::Memory { address: address(random, known), size: random.one_of(&[1, 2, 4, 8, 3]) },
        _ => Subject::Hits,
    };
    let relation = random.one_of(&Relation::ALL);
    let condition = random.chance(30).then(|| Condition { subject, relation, value: any(random) });
    // A held thread hits no more sites.
    let actions =
        random.next() as u16 & action::ALL & if known.are_sites && random.chance(99) { !action::HOLD } else { !0 };
    let base = match random.below(3) {
        0 => Base::Stack,
        1 => Base::Zero,
        _ => Base::Register(random.below(40) as u16),
    };
    let offset = if random.one_in(2) { random.below(100) } else { address(random, known) };
    let memory = Memory::new(base, offset, random.below(5000) as u16);
    Site { address: address(random, known), actions, memory, condition }
}

fn address(random: &mut Random, known: &Known) -> u64 {
    if known.are_sites && random.chance(95) {
        return one_of(random, &known.addresses);
    }
    let near = random.below(70 << 12);
    match random.below(4) {
        0 => one_of(random, &known.addresses).wrapping_sub(near),
        1 => one_of(random, &known.addresses).wrapping_add(near & !0xfff),
        _ => one_of(random, &known.addresses).wrapping_add(near),
    }
}

fn any(random: &mut Random) -> u64 {
    match random.below(3) {
        0 => random.below(100),
        1 => random.one_of(&EDGES).wrapping_add(random.below(3)).wrapping_sub(1),
        _ => random.next(),
    }
}

fn one_of(random: &mut Random, values: &[u64]) -> u64 {
    if values.is_empty() { any(random) } else { random.one_of(values) }
}

/// One change somewhere.
fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len() as u64) as usize;
    let word = at & !7;
    match random.below(6) {
        _ if bytes.len() < 8 => bytes.push(random.byte()),
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.byte(),
        2 if word + 8 <= bytes.len() => bytes[word..word + 8].copy_from_slice(&any(random).to_ne_bytes()),
        3 => bytes.truncate(at),
        4 => {
            let end = at + random.below((bytes.len() - at) as u64) as usize;
            bytes.drain(at..end);
        }
        _ => {
            let piece: Vec<u8> = bytes[word..].iter().take(16 + random.below(64) as usize).copied().collect();
            bytes.splice(word..word, piece);
        }
    }
}
