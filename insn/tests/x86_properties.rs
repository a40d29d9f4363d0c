//! What holds for all bytes of x86: no panic, no reading past the end, truncation noticed, answers independent of what follows.

use insn::x86::{Bits, ErrorKind, Insn, MAX_LEN, Mode, Vendor, decode};

fn modes() -> impl Iterator<Item = Mode> {
    [Bits::B16, Bits::B32, Bits::B64].into_iter().flat_map(|bits| {
        [Vendor::Intel, Vendor::Amd].into_iter().flat_map(move |vendor| {
            let mode = Mode::new(bits, vendor);
            [mode, mode.lenient()]
        })
    })
}

/// A deterministic source of numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    fn below(&mut self, n: u64) -> usize {
        ((self.next() >> 33) % n) as usize
    }
    /// Bytes that look like instructions: prefixes, then an escape, then noise.
    fn bytes(&mut self) -> [u8; 20] {
        const PREFIXES: [u8; 11] = [0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x2e, 0x64, 0x48, 0x41, 0x40, 0x4f];
        const ESCAPES: [&[u8]; 10] =
            [&[], &[], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a], &[0xc5], &[0xc4], &[0x62], &[0x8f, 0xe8], &[0xd5]];
        let mut bytes = [0; 20];
        for chunk in bytes.chunks_mut(8) {
            let noise = self.next().to_le_bytes();
            chunk.copy_from_slice(&noise[..chunk.len()]);
        }
        let prefixes = self.below(3);
        for byte in &mut bytes[..prefixes] {
            *byte = PREFIXES[self.below(11)];
        }
        let escape = ESCAPES[self.below(10)];
        bytes[prefixes..prefixes + escape.len()].copy_from_slice(escape);
        bytes
    }
}

/// Asks everything.
fn ask(insn: &Insn) -> impl PartialEq + std::fmt::Debug + use<> {
    let fields = (insn.encoding(), insn.map(), insn.opcode(), insn.opcode_offset(), insn.prefix_len(), insn.prefixes());
    let operands = (insn.modrm(), insn.sib(), insn.reg(), insn.rm(), insn.w(), insn.vvvv(), insn.operand_size());
    let values = (insn.displacement(), insn.immediate(), insn.immediate2(), insn.memory(), insn.implicit_memory());
    let flow = (insn.flow(), insn.target(), insn.target_address(u64::MAX - 3), insn.rip_relative_address(u64::MAX));
    let registers = (insn.reads(), insn.writes(), insn.flags_read(), insn.flags_written());
    let effects = insn.effects();
    assert_eq!((effects.reads, effects.writes, effects.flags_read, effects.flags_written), registers);
    assert_eq!((effects.memory, effects.implicit_memory), (insn.memory(), insn.implicit_memory()));
    assert_eq!(effects.operand_size, insn.operand_size());
    assert_ne!(insn.mnemonic(), "", "{insn:?}");
    let listed: Vec<_> = insn.operands().collect();
    let fields = (fields, insn.mnemonic(), listed, insn.rex(), insn.opcode_extension());
    (fields, operands, values, flow, registers)
}

#[test]
fn any_bytes_are_answered_without_panic_and_within_bounds() {
    let mut random = Random(1);
    for _ in 0..200_000 {
        let bytes = random.bytes();
        for mode in modes() {
            match decode(&bytes, mode) {
                Ok(insn) => {
                    assert!((1..=MAX_LEN).contains(&insn.len()));
                    assert_eq!(insn.bytes(), &bytes[..insn.len()]);
                    ask(&insn);
                }
                Err(error) => assert!(usize::from(error.offset) < MAX_LEN, "{bytes:02x?}"),
            }
        }
    }
}

#[test]
fn any_truncation_of_an_instruction_is_truncated() {
    let mut random = Random(2);
    for _ in 0..50_000 {
        let bytes = random.bytes();
        for mode in modes() {
            let Ok(insn) = decode(&bytes, mode) else { continue };
            for len in 0..insn.len() {
                let error = decode(&bytes[..len], mode).expect_err("a part of an instruction is none");
                assert_eq!(
                    (error.kind, usize::from(error.offset)),
                    (ErrorKind::Truncated, len),
                    "{bytes:02x?} {mode:?}"
                );
            }
        }
    }
}

#[test]
fn what_follows_an_instruction_does_not_matter() {
    let mut random = Random(3);
    for _ in 0..50_000 {
        let bytes = random.bytes();
        for mode in modes() {
            let Ok(insn) = decode(&bytes, mode) else { continue };
            let alone = decode(insn.bytes(), mode).unwrap();
            let mut other = [0xcc; 20];
            other[..insn.len()].copy_from_slice(insn.bytes());
            let padded = decode(&other, mode).unwrap();
            assert_eq!((alone, padded), (insn, insn));
            assert_eq!(ask(&alone), ask(&insn), "{bytes:02x?} {mode:?}");
            assert_eq!(ask(&padded), ask(&insn), "{bytes:02x?} {mode:?}");
        }
    }
}

#[test]
fn strict_modes_agree_with_lenient_ones_on_what_they_accept() {
    let mut random = Random(4);
    for _ in 0..100_000 {
        let bytes = random.bytes();
        for mode in modes().filter(|mode| !mode.lenient) {
            if let Ok(strict) = decode(&bytes, mode) {
                let lenient = decode(&bytes, mode.lenient()).unwrap();
                assert_eq!(ask(&lenient), ask(&strict), "{bytes:02x?} {mode:?}");
            }
        }
    }
}

/// What `full` holds, with and without the fifteenth byte: fewer than fifteen always take the general path.
fn assert_paths_agree(full: &[u8; MAX_LEN], mode: Mode) {
    let Ok(hot) = decode(full, mode) else { return };
    if hot.len() < MAX_LEN {
        let general = decode(&full[..MAX_LEN - 1], mode);
        assert!(general.is_ok(), "{full:02x?} {mode:?}: {general:?}");
        assert_eq!(general.map(|insn| ask(&insn)), Ok(ask(&hot)), "{full:02x?} {mode:?}");
    }
}

#[test]
fn the_hot_path_answers_as_the_general_one_for_every_opcode_extension_and_prefix() {
    const PREFIXES: [&[u8]; 12] = [
        &[],
        &[0x66],
        &[0xf2],
        &[0xf3],
        &[0x2e],
        &[0x64],
        &[0x66, 0xf2],
        &[0xf3, 0x66],
        &[0xf2, 0xf3],
        &[0xf2, 0x3e],
        &[0x66, 0x66, 0x2e],
        &[0x2e, 0x2e, 0x2e, 0x2e, 0x2e],
    ];
    // With a SIB byte whose base is 5, and without.
    let modrms = (0..=255u8).filter(|modrm| matches!(modrm & 7, 1 | 4));
    let modrms: Vec<u8> = modrms.collect();
    for prefixes in PREFIXES {
        for rex in [&[][..], &[0x41], &[0x48]] {
            for escape in [&[][..], &[0x0f]] {
                let start = [prefixes, rex, escape].concat();
                let mut bytes = [0xa5; MAX_LEN];
                bytes[..start.len()].copy_from_slice(&start);
                for opcode in 0..=255 {
                    bytes[start.len()] = opcode;
                    for modrm in &modrms {
                        bytes[start.len() + 1] = *modrm;
                        assert_paths_agree(&bytes, Mode::INTEL_64);
                    }
                }
            }
        }
    }
}

#[test]
fn the_hot_path_answers_as_the_general_one() {
    let mut random = Random(5);
    for _ in 0..300_000 {
        let bytes = random.bytes();
        let full = bytes.first_chunk().unwrap();
        assert_paths_agree(full, Mode::INTEL_64);
        assert_paths_agree(full, Mode::AMD_64);
    }
}
