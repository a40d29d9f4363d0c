use super::*;

/// Memory of one piece at an address.
fn memory(start: u64, bytes: Vec<u8>) -> impl Fn(u64, &mut [u8]) -> usize {
    move |at, buffer| {
        let there = at.checked_sub(start).and_then(|at| bytes.get(usize::try_from(at).ok()?..)).unwrap_or_default();
        let count = there.len().min(buffer.len());
        buffer[..count].copy_from_slice(&there[..count]);
        count
    }
}

fn map(start: u64, end: u64, offset: u64, execute: bool) -> Mapping {
    Mapping {
        start: Address(start),
        end: Address(end),
        read: true,
        write: false,
        execute,
        shared: false,
        offset,
        device: 1,
        inode: 7,
        path: Some("/lib/x.so".into()),
        deleted: false,
    }
}

/// A 64-bit file with these program headers: type, offset, address, size. The notes follow at 0x200.
fn file(headers: &[[u64; 4]], notes: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    bytes[32] = 64;
    bytes[54] = 56;
    bytes[56] = headers.len() as u8;
    for [kind, offset, address, size] in headers {
        bytes.extend([*kind as u32, 5].iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend([*offset, *address, *address, *size, *size, 4].iter().flat_map(|word| word.to_le_bytes()));
    }
    bytes.resize(0x200, 0);
    bytes.extend(notes);
    bytes.resize(0x1000, 0);
    bytes
}

/// A note: type, name and contents, padded to four bytes.
fn note(kind: u32, name: &[u8], contents: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        [name.len() as u32, contents.len() as u32, kind].iter().flat_map(|w| w.to_le_bytes()).collect();
    for part in [name, contents] {
        bytes.extend(part);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

const BASE: u64 = 0x7f00_0000_0000;

#[test]
fn the_build_id_is_that_of_the_notes_in_memory_whatever_precedes_it() {
    let notes = [note(5, b"GNU\0", &[0; 16]), note(3, b"Go\0\0", b"other"), note(3, b"GNU\0", &[0xab, 1, 2])].concat();
    let bytes = file(&[[1, 0, 0x40_0000, 0x3000], [4, 0x200, 0x40_0200, notes.len() as u64]], &notes);
    let maps = [map(BASE, BASE + 0x1000, 0, false), map(BASE + 0x1000, BASE + 0x3000, 0x1000, true)];
    let found = modules(&maps, &memory(BASE, bytes));
    assert_eq!(found.len(), 1);
    let module = &found[0];
    assert_eq!(module.build_id.as_ref().map(ToString::to_string).as_deref(), Some("ab0102"));
    assert_eq!(module.bias, BASE - 0x40_0000);
    assert_eq!((module.start.0, module.end.0), (BASE, BASE + 0x3000));
    assert_eq!(module.in_memory(0x40_1000), Address(BASE + 0x1000));
    assert_eq!(module.in_file(Address(BASE + 0x1000)), 0x40_1000);
    assert!(module.contains(Address(BASE + 0x1000)) && !module.contains(Address(BASE)));
}

#[test]
fn a_file_that_is_only_read_is_no_module_and_does_not_hide_one_beside_it() {
    let bytes = file(&[[1, 0, 0, 0x1000], [1, 0x1000, 0x1000, 0x1000]], &[]);
    let twice: Vec<u8> = bytes.iter().chain(&bytes).copied().collect();
    let read = map(BASE, BASE + 0x1000, 0, false);
    assert_eq!(modules(std::slice::from_ref(&read), &memory(BASE, twice.clone())), []);
    let maps = [read, map(BASE + 0x1000, BASE + 0x2000, 0, false), map(BASE + 0x2000, BASE + 0x3000, 0x1000, true)];
    let found = modules(&maps, &memory(BASE, twice));
    assert_eq!(found.iter().map(|module| module.bias).collect::<Vec<_>>(), [BASE + 0x1000]);
}

#[test]
fn a_small_file_whose_segments_share_a_page_is_one_module() {
    let bytes = file(&[[1, 0, 0, 0x300], [1, 0x300, 0x2300, 0x80]], &[]);
    let maps = [map(BASE, BASE + 0x1000, 0, true), map(BASE + 0x2000, BASE + 0x3000, 0, false)];
    let image: Vec<u8> = [&bytes, &vec![0; 0x1000], &bytes].into_iter().flatten().copied().collect();
    let found = modules(&maps, &memory(BASE, image));
    assert_eq!(found.iter().map(|module| (module.start.0, module.end.0)).collect::<Vec<_>>(), [(BASE, BASE + 0x3000)]);
}

#[test]
fn a_file_inside_another_file_has_its_own_bias() {
    let bytes = file(&[[1, 0, 0, 0x1000], [1, 0x1000, 0x1000, 0x1000]], &[]);
    let maps = [map(BASE, BASE + 0x1000, 0x7000, false), map(BASE + 0x1000, BASE + 0x2000, 0x8000, true)];
    let found = modules(&maps, &memory(BASE, bytes));
    assert_eq!(found.iter().map(|module| (module.bias, module.code.len())).collect::<Vec<_>>(), [(BASE, 1)]);
}

#[test]
fn headers_and_notes_that_lie_are_left_out_and_nothing_overflows() {
    let good = file(&[[1, 0, 0, 0x1000], [4, 0x200, 0x200, 0xffff_ffff_ffff_ffff]], &note(3, b"GNU\0", &[1; 20]));
    let maps = [map(BASE, BASE + 0x1000, 0, true)];
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    for round in 0..20_000 {
        let mut bytes = good.clone();
        for _ in 0..round % 5 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            bytes[(seed >> 33) as usize % 0x240] = (seed >> 20) as u8 | if seed & 1 == 0 { 0xf0 } else { 0 };
        }
        for module in modules(&maps, &memory(BASE, bytes)) {
            assert!(module.build_id.is_none_or(|id| id.as_bytes().len() <= BuildId::MOST));
        }
    }
    let long = file(&[[1, 0, 0, 0x1000], [4, 0x200, 0x200, 0x200]], &note(3, b"GNU\0", &[1; BuildId::MOST + 1]));
    assert_eq!(modules(&maps, &memory(BASE, long))[0].build_id, None);
}

#[test]
fn what_came_and_what_went_is_named_and_new_code_of_a_module_too() {
    let bytes = file(&[[1, 0, 0, 0x1000], [1, 0x1000, 0x1000, 0x2000]], &[]);
    let read = memory(BASE, bytes);
    let maps = [
        map(BASE, BASE + 0x1000, 0, false),
        map(BASE + 0x1000, BASE + 0x2000, 0x1000, true),
        map(BASE + 0x2000, BASE + 0x3000, 0x2000, true),
    ];
    let (part, whole) = (modules(&maps[..2], &read), modules(&maps, &read));
    assert_eq!(Changes::between(&[], &part), Changes { loaded: part.clone(), unloaded: vec![] });
    assert_eq!(Changes::between(&part, &part), Changes::default());
    assert_eq!(Changes::between(&part, &whole), Changes { loaded: whole.clone(), unloaded: vec![] });
    assert_eq!(Changes::between(&whole, &[]), Changes { loaded: vec![], unloaded: whole });
}
