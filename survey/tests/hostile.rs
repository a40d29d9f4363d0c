//! Files that claim more than they contain. Fuzzing found these cases.

use insn::x86::Vendor;
use survey::{Code, Survey};
use ubp_symbols::{Arch, Image};

/// Code that consists of `nop; ret` repeatedly.
const CODE: [u8; 64] = {
    let mut code = [0x90; 64];
    let mut at = 7;
    while at < 64 {
        code[at] = 0xc3;
        at += 8;
    }
    code
};

/// The names of the sections. ntrace takes all of `.init` for code.
const NAMES: &[u8] = b"\0.init\0";

/// Returns an executable whose segments have the given addresses, and the given sizes in memory and in the file. Each segment is a section
/// of code.
fn executable(segments: &[(u64, u64, u64)]) -> Vec<u8> {
    let code = 64 + 56 * segments.len() as u64;
    let names = code + CODE.len() as u64;
    let sections = names + NAMES.len() as u64;
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
    let entry = segments.first().map_or(0, |(address, ..)| *address);
    bytes.extend([entry, 64, sections].map(u64::to_le_bytes).concat());
    bytes.extend([0; 4]);
    let count = segments.len() as u16;
    bytes.extend([64, 56, count, 64, count + 2, count + 1].map(u16::to_le_bytes).concat());
    for &(address, memory, file) in segments {
        // PT_LOAD, readable and executable.
        bytes.extend([1u32, 5].map(u32::to_le_bytes).concat());
        bytes.extend([code, address, address, file, memory, 0x1000].map(u64::to_le_bytes).concat());
    }
    bytes.extend(CODE);
    bytes.extend(NAMES);
    bytes.extend([0; 64]);
    for &(address, memory, _) in segments {
        // SHT_PROGBITS, allocated and executable.
        bytes.extend([1u32, 1].map(u32::to_le_bytes).concat());
        bytes.extend([6, address, code, memory, 0, 1, 0].map(u64::to_le_bytes).concat());
    }
    // SHT_STRTAB.
    bytes.extend([0u32, 3].map(u32::to_le_bytes).concat());
    bytes.extend([0, 0, names, NAMES.len() as u64, 0, 1, 0].map(u64::to_le_bytes).concat());
    bytes
}

fn survey(segments: &[(u64, u64, u64)]) -> Result<Survey, String> {
    let image = Image::parse("file".into(), executable(segments)).map_err(|error| error.to_string())?;
    assert_eq!(image.arch(), Arch::X86_64);
    Ok(Survey::of(&Code::of(&image, image.arch().mode(Vendor::Intel)), |_, _| {}))
}

#[test]
fn a_sound_file_is_surveyed() {
    let survey = survey(&[(0x40_0000, 64, 64)]).unwrap();
    assert_eq!((survey.code_bytes, survey.counts.instructions), (64, 64));
}

#[test]
fn code_at_both_ends_of_the_address_space_takes_no_memory_for_what_lies_between() {
    let survey = survey(&[(0x1000, 64, 64), (0xffff_ffff_ffff_0000, 64, 64)]).unwrap();
    assert_eq!(survey.code_bytes, 128);
}

#[test]
fn a_segment_that_ends_behind_the_last_address_is_cut() {
    survey(&[(u64::MAX - 40, 64, 64)]).unwrap();
    survey(&[(u64::MAX, u64::MAX, u64::MAX)]).unwrap();
}

#[test]
fn a_segment_larger_than_the_file_is_as_long_as_the_file() {
    let survey = survey(&[(0x40_0000, u64::MAX, u64::MAX)]).unwrap();
    assert!((64..1000).contains(&survey.code_bytes), "{survey:?}");
}

#[test]
fn a_file_with_more_segments_than_any_program_has_is_refused() {
    let error = survey(&[(0x40_0000, 64, 64); 3000]).unwrap_err();
    assert_eq!(error, "corrupt ELF file: 3000 segments");
}
