//! Many instructions at once.

use insn::Flow;
use insn::x86::{Branch, Mode, branches, decode, starts};

/// Numbers that look random, the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Code of `size` bytes: random bytes, or random choices of common instructions, which a decoder that starts amid them soon reads rightly.
fn code(size: usize, random: &mut Random) -> Vec<u8> {
    const COMMON: [&[u8]; 8] = [
        &[0x48, 0x89, 0xe5],
        &[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
        &[0xe8, 1, 2, 3, 4],
        &[0x74, 0x05],
        &[0xc5, 0xf8, 0x77],
        &[0x48, 0xb8, 0x55, 0x06, 0x90, 0x48, 0x89, 0xe5, 0x0f, 0x05],
        &[0x06],
        &[0xff, 0x25, 0, 0, 0, 0],
    ];
    let is_noise = random.next() & 3 == 0;
    let mut code = Vec::new();
    while code.len() < size {
        let number = random.next();
        if is_noise {
            code.extend(number.to_le_bytes());
        } else {
            code.extend(COMMON[number as usize & 7]);
        }
    }
    code.truncate(size);
    code
}

/// What a sweep by single instructions finds.
fn one_by_one(code: &[u8], mode: Mode) -> (Vec<u32>, Vec<(u32, usize, Flow)>) {
    let (mut starts, mut branches, mut at) = (Vec::new(), Vec::new(), 0);
    while at < code.len() {
        at += match decode(&code[at..], mode) {
            Ok(insn) => {
                starts.push(at as u32);
                if matches!(insn.flow(), Flow::Jump | Flow::ConditionalJump | Flow::Call | Flow::Return) {
                    branches.push((at as u32, insn.len(), insn.flow()));
                }
                insn.len()
            }
            Err(_) => 1,
        };
    }
    (starts, branches)
}

#[test]
fn a_batch_finds_what_single_instructions_tell() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..300 {
        let size = random.next() as usize % if round < 100 { 40 } else { 12_000 };
        let code = code(size, &mut random);
        for mode in [Mode::INTEL_64, Mode::AMD_64.lenient(), Mode::INTEL_32] {
            let (expected, expected_branches) = one_by_one(&code, mode);
            let mut found = vec![u32::MAX; size];
            let swept = starts(&code, mode, &mut found);
            assert!(found[..swept.found] == expected && swept.end == size, "{size} bytes, {mode:?}");
            let mut found = vec![Branch::EMPTY; size];
            let swept = branches(&code, mode, &mut found);
            let told: Vec<_> = found[..swept.found].iter().map(|b| (b.start, usize::from(b.len), b.flow)).collect();
            assert!(told == expected_branches && swept.end == size, "{size} bytes, {mode:?}");
            for branch in &found[..swept.found] {
                let insn = decode(&code[branch.start as usize..], mode).expect("a branch");
                assert_eq!(branch.target, insn.target());
            }
        }
    }
}

#[test]
fn a_batch_goes_on_where_the_array_was_full() {
    let mut random = Random(7);
    for room in [1, 3, 383, 384, 700, 2048, 2049, 3072, 5000] {
        let code = code(9_000, &mut random);
        let (mut all, mut at) = (Vec::new(), 0);
        while at < code.len() {
            let mut found = vec![0; room];
            let swept = starts(&code[at..], Mode::INTEL_64, &mut found);
            assert!(swept.found <= room && swept.end > 0);
            all.extend(found[..swept.found].iter().map(|start| at as u32 + start));
            at += swept.end;
        }
        assert!(all == one_by_one(&code, Mode::INTEL_64).0, "room for {room}");
    }
}

#[test]
fn no_room_and_no_code_are_answers_too() {
    assert_eq!(starts(&[0x90], Mode::INTEL_64, &mut []).found, 0);
    assert_eq!(starts(&[], Mode::INTEL_64, &mut [0; 4]).end, 0);
    assert_eq!(branches(&[0x90, 0xc3], Mode::INTEL_64, &mut []).end, 1);
}
