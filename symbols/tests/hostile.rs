//! Nobody trusts files: a malformed one gives an error or fewer answers, and never a panic.

mod common;

use std::path::Path;

use common::build;
use ubp_symbols::code::vendor;
use ubp_symbols::files::{OpenError, Root, open};
use ubp_symbols::{ElfError, Image, Names, Pattern, by_line, by_name};

/// Asks everything of a file.
fn examine(image: &Image) -> usize {
    let mut answers = by_name(image, &Pattern::new("*n*r"), 0).sites.len() + by_line(image, "calls.c", 1).sites.len();
    for (symbol, _) in image.symbols().readable() {
        answers += Names::of(symbol.name).shared.len();
        answers += usize::from(image.symbols().holding(symbol.address).is_some());
        answers += usize::from(image.is_described(symbol.address));
        answers += image.function(symbol.address).ok().flatten().map_or(0, |function| function.parameters.len());
    }
    for &address in image.instructions(|image| image.arch().mode(vendor())) {
        answers += usize::from(image.lines().and_then(|lines| lines.of(address)).is_some());
        answers += image.scope(address).ok().flatten().map_or(0, |scope| scope.variables.len());
    }
    answers + usize::from(image.exported("main").is_some()) + image.text_sections().len()
}

#[test]
fn a_file_with_wrong_bytes_anywhere_in_its_headers_and_sections_never_panics() {
    let program = std::fs::read(build("calls.c", &[])).unwrap();
    let whole = examine(&Image::parse("whole".into(), program.clone()).unwrap());
    assert!(whole > 10, "{whole}");
    let (mut seed, mut refused, mut read) = (7u64, 0, 0);
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize
    };
    for _ in 0..400 {
        let mut bytes = program.clone();
        for _ in 0..1 + next() % 12 {
            // Headers of the file at its start, of sections at its end.
            let at = match next() % 3 {
                0 => next() % 0x400,
                1 => bytes.len() - 1 - next() % 0x900,
                _ => next() % bytes.len(),
            };
            bytes[at] = next() as u8;
        }
        bytes.truncate(bytes.len() - if next() % 8 == 0 { next() % bytes.len() } else { 0 });
        match Image::parse("mutated".into(), bytes) {
            Ok(image) => read += examine(&image).min(1),
            Err(_) => refused += 1,
        }
    }
    assert!(read > 50 && refused > 5, "{read} read, {refused} refused");
}

#[test]
fn what_is_no_elf_file_and_what_is_no_file_are_different_errors() {
    let error = |path: &Path| Image::open(path).unwrap_err();
    assert!(matches!(error(&common::source("calls.c")), ElfError::NotElf));
    assert!(matches!(error(Path::new("/dev/zero")), ElfError::Open(OpenError::NotRegular)));
    assert!(matches!(error(Path::new("/no/such/file")), ElfError::Open(OpenError::Io(_))));
    assert!(matches!(Image::parse("short".into(), b"\x7fELF".to_vec()), Err(ElfError::Corrupt(_))));
}

#[test]
fn a_file_is_read_up_to_its_end_and_not_beyond() {
    let path = common::source("calls.c");
    let text = std::fs::read(&path).unwrap();
    for file in [open(&path).unwrap(), Root::own().unwrap().open(&path).unwrap()] {
        assert_eq!((file.size(), file.path()), (text.len() as u64, path.as_path()));
        assert_eq!(file.read(2, 10).as_deref(), Some(&text[2..12]));
        assert_eq!(file.read(file.size() - 1, 2), None);
        assert_eq!(file.read(u64::MAX, 2), None);
    }
}
