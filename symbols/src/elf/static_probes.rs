//! The static probes that a program declares for tracers (USDT), by the notes of systemtap's `<sys/sdt.h>`, format 3.
//!
//! The description of a note is three addresses (the probe, the base at link time, the semaphore or 0), and three texts that end with a zero byte:
//! the provider, the name, and the arguments (<https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation>).

use object::{Object, ObjectSection};

use super::contents::contents;
use super::file::Elf;
use super::headers::{Arch, Parsed};

/// The section of the notes.
const NOTES: &str = ".note.stapsdt";
/// The section whose address the notes have as base: after `prelink` it is another one.
const BASE: &str = ".stapsdt.base";
/// The owner of the notes, and their type.
const OWNER: &[u8] = b"stapsdt\0";
const KIND: u32 = 3;
/// The largest number of probes that are read of one file.
const MOST: usize = 1 << 16;

/// A place in the code that a program declares for tracers: one instruction that does nothing, and a description of the arguments there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StaticProbe {
    /// The name of the program or library that declares it.
    pub provider: String,
    /// Its name; several places may have the same.
    pub name: String,
    /// The address in the file.
    pub address: u64,
    /// The address in the file of a number of 16 bits. Where it is 0, the program does not reach the probe: a tracer adds 1 while it traces.
    pub semaphore: Option<u64>,
    /// The arguments as the assembler wrote them, such as `8@%rdi -4@12(%rsp)`.
    pub arguments: String,
}

impl StaticProbe {
    /// The probe's name as a location: `usdt:PROVIDER:NAME`.
    pub fn label(&self) -> String {
        format!("usdt:{}:{}", self.provider, self.name)
    }
}

/// The probes of a file, by address.
pub(super) fn read(elf: &Elf) -> Vec<StaticProbe> {
    let read = |file: &Parsed<'_>| {
        let notes = file.section_by_name(NOTES).map(|section| contents(elf.source(), &section));
        let base = file.section_by_name(BASE).map(|section| section.address());
        parse(&notes.unwrap_or_default(), elf.arch(), base)
    };
    let mut probes = elf.with_file(read).unwrap_or_default();
    probes.retain(|probe| elf.is_code(probe.address));
    probes.sort_by(|a, b| (a.address, &a.provider, &a.name).cmp(&(b.address, &b.provider, &b.name)));
    probes
}

/// The probes of notes; a malformed note ends them. `base`: the address of the section [`BASE`].
fn parse(mut notes: &[u8], arch: Arch, base: Option<u64>) -> Vec<StaticProbe> {
    let mut probes = Vec::new();
    while let Some((note, rest)) = note(notes) {
        notes = rest;
        if note.owner == OWNER && note.kind == KIND {
            probes.extend(probe(note.description, arch, base));
        }
        if probes.len() >= MOST {
            break;
        }
    }
    probes
}

struct Note<'a> {
    owner: &'a [u8],
    kind: u32,
    description: &'a [u8],
}

/// The first note, and what is behind it.
fn note(bytes: &[u8]) -> Option<(Note<'_>, &[u8])> {
    let word = |at: usize| bytes.get(at..at + 4)?.first_chunk().map(|word| u32::from_le_bytes(*word));
    let (owner, description, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
    let start = 12_usize.checked_add(owner.checked_next_multiple_of(4)?)?;
    let end = start.checked_add(description)?;
    let note = Note { owner: bytes.get(12..12 + owner)?, kind, description: bytes.get(start..end)? };
    Some((note, bytes.get(end.checked_next_multiple_of(4)?..).unwrap_or_default()))
}

/// The probe of a description.
fn probe(description: &[u8], arch: Arch, base: Option<u64>) -> Option<StaticProbe> {
    let size = if arch == Arch::I386 { 4 } else { 8 };
    let (addresses, texts) = description.split_at_checked(3 * size)?;
    let mut addresses = addresses.chunks_exact(size).map(|bytes| {
        let mut address = [0; 8];
        address.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(address)
    });
    let (address, linked, semaphore) = (addresses.next()?, addresses.next()?, addresses.next()?);
    let moved = base.filter(|_| linked != 0).map_or(0, |base| base.wrapping_sub(linked));
    let mut texts = texts.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned());
    let (provider, name, arguments) = (texts.next()?, texts.next()?, texts.next()?);
    let is_named = !provider.is_empty() && !name.is_empty();
    is_named.then(|| StaticProbe {
        provider,
        name,
        address: address.wrapping_add(moved),
        semaphore: (semaphore != 0).then(|| semaphore.wrapping_add(moved)),
        arguments,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note_of(addresses: [u64; 3], texts: &[u8]) -> Vec<u8> {
        let description: Vec<u8> =
            addresses.iter().flat_map(|a| a.to_le_bytes()).chain(texts.iter().copied()).collect();
        let mut bytes = [8, description.len() as u32, KIND].map(u32::to_le_bytes).concat();
        bytes.extend_from_slice(OWNER);
        bytes.extend(description);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn addresses_move_with_the_base_and_a_probe_without_semaphore_has_none() {
        let first = note_of([0x1000, 0x2000, 0x3000], b"app\0begin\08@%rdi -4@12(%rsp)\0");
        let second = note_of([0x1010, 0x2000, 0], b"app\0end\0\0");
        let probes = parse(&[first, second].concat(), Arch::X86_64, Some(0x2100));
        assert_eq!(probes.len(), 2);
        assert_eq!((probes[0].address, probes[0].semaphore), (0x1100, Some(0x3100)));
        assert_eq!((&*probes[0].label(), &*probes[0].arguments), ("usdt:app:begin", "8@%rdi -4@12(%rsp)"));
        assert_eq!((probes[1].address, probes[1].semaphore, &*probes[1].arguments), (0x1110, None, ""));
    }

    #[test]
    fn a_malformed_note_makes_no_probe_and_no_panic() {
        let whole = note_of([1, 2, 3], b"a\0b\0\0");
        for length in 0..whole.len() {
            assert!(parse(&whole[..length], Arch::X86_64, None).len() <= 1);
        }
        assert!(parse(&note_of([1, 2, 3], b"\0b\0\0"), Arch::X86_64, None).is_empty(), "a provider without name");
        for (at, byte) in [(0, 0xff), (3, 0xff), (4, 0xff), (7, 0xff)] {
            let mut broken = whole.clone();
            broken[at] = byte;
            assert!(parse(&broken, Arch::X86_64, None).is_empty());
        }
    }
}
