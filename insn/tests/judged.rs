//! Encodings that others have judged, of both architectures: judged.txt has them, and its head explains its form.

use insn::x86::{Bits, Mode, Vendor};
use insn::{Access, arm64, x86};

/// A section: what is expected of its encodings.
struct Section {
    line: usize,
    mode: String,
    expectations: Vec<String>,
    encodings: Vec<Vec<u8>>,
}

/// What an instruction is, in the words of the file.
struct Told {
    len: usize,
    /// Places, and what is in each.
    places: Vec<(&'static str, Vec<String>)>,
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        if let Some((head, judge)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            assert!(!judge.trim().is_empty(), "line {}: no judge", number + 1);
            let mut words = head.split_whitespace().map(str::to_owned);
            let mode = words.next().unwrap_or_default();
            sections.push(Section { line: number + 1, mode, expectations: words.collect(), encodings: Vec::new() });
        } else {
            let encodings = line.split_whitespace().map(|word| bytes(word).unwrap_or_else(|| panic!("{word}")));
            sections.last_mut().expect("a head before the first encoding").encodings.extend(encodings);
        }
    }
    sections
}

fn bytes(word: &str) -> Option<Vec<u8>> {
    let digits = word.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    digits.map(|digits| u8::from_str_radix(digits?, 16).ok()).collect()
}

/// The members of a set as `Debug` writes it.
fn members(set: impl std::fmt::Debug) -> Vec<String> {
    let text = format!("{set:?}");
    let names = text.trim_matches(['{', '}']).split(", ").filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

fn access(access: Option<Access>) -> Vec<String> {
    let names: &[&str] = match access {
        Some(Access::Read) => &["read"],
        Some(Access::Write) => &["write"],
        Some(Access::ReadWrite) => &["read", "write"],
        _ => &[],
    };
    names.iter().map(ToString::to_string).collect()
}

fn told(bytes: &[u8], bits: Option<Bits>, vendor: Vendor) -> Result<Told, String> {
    let Some(bits) = bits else {
        let word = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        let insn = arm64::decode(word).map_err(|error| error.to_string())?;
        let places = vec![("reads", members(insn.reads())), ("writes", members(insn.writes()))];
        return Ok(Told { len: 4, places });
    };
    let insn = x86::decode(bytes, Mode::new(bits, vendor)).map_err(|error| error.to_string())?;
    let places = vec![
        ("reads", members(insn.reads()).into_iter().filter(|name| name != "flags").collect()),
        ("writes", members(insn.writes()).into_iter().filter(|name| name != "flags").collect()),
        ("flags_read", members(insn.flags_read())),
        ("flags_written", members(insn.flags_written())),
        ("memory", access(insn.memory().map(|memory| memory.access))),
    ];
    Ok(Told { len: insn.len(), places })
}

/// Whether an expectation holds.
fn holds(expectation: &str, bytes: &[u8], told: &Result<Told, String>) -> bool {
    match (expectation, told) {
        ("refused", told) => told.is_err(),
        (_, Err(_)) => false,
        ("whole", Ok(told)) => told.len == bytes.len(),
        (expectation, Ok(told)) => {
            let at = expectation.find(['=', '+', '-']).unwrap_or_else(|| panic!("{expectation}"));
            let place = &expectation[..at];
            let (_, there) = told.places.iter().find(|(name, _)| *name == place).unwrap_or_else(|| panic!("{place}"));
            let mut named = expectation[at + 1..].split(',').filter(|name| !name.is_empty());
            let is_there = |name: &str| there.iter().any(|other| other == name);
            match expectation.as_bytes()[at] {
                b'=' => there.len() == named.clone().count() && named.all(is_there),
                b'+' => named.all(is_there),
                _ => !named.any(is_there),
            }
        }
    }
}

#[test]
fn what_others_have_judged_is_as_they_say() {
    let sections = sections(include_str!("judged.txt"));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for section in &sections {
        let (mode, of_intel) = section.mode.strip_suffix("-intel").map_or((&*section.mode, false), |mode| (mode, true));
        let bits = match mode {
            "64" => Some(Bits::B64),
            "32" => Some(Bits::B32),
            "a64" => None,
            other => panic!("line {}: no mode: {other}", section.line),
        };
        let vendors: &[Vendor] = if of_intel { &[Vendor::Intel] } else { &[Vendor::Intel, Vendor::Amd] };
        for (encoding, vendor) in section.encodings.iter().flat_map(|bytes| vendors.iter().map(move |v| (bytes, *v))) {
            count += 1;
            let told = told(encoding, bits, vendor);
            let failed: Vec<&String> = section.expectations.iter().filter(|e| !holds(e, encoding, &told)).collect();
            if !failed.is_empty() {
                let told = told.map(|told| (told.len, told.places));
                wrong.push(format!("line {}: {encoding:02x?} {vendor:?}: not {failed:?}: {told:?}", section.line));
            }
        }
    }
    assert!(count > 1000, "{count} encodings");
    assert!(wrong.is_empty(), "{}\n{} of {count}", wrong.join("\n"), wrong.len());
}
