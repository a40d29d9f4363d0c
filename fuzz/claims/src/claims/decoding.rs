use insn::x86::{Bits, ErrorKind, Insn, MAX_LEN, Mode, Vendor, decode};

use super::generate;
use crate::generate::Encoding;

/// Any bytes, in any mode, give an answer that depends on the instruction's own bytes alone; every part of an instruction is
/// truncated, and its fields lie inside it, one behind another.
pub fn decoding(data: &[u8]) {
    let Some(Encoding(bytes)) = generate(data) else { return };
    for bits in [Bits::B16, Bits::B32, Bits::B64] {
        for vendor in [Vendor::Intel, Vendor::Amd] {
            let strict = Mode::new(bits, vendor);
            let accepted = one_mode(&bytes, strict);
            let lenient = one_mode(&bytes, strict.lenient());
            if let Some(insn) = accepted {
                let lenient = lenient.expect("a lenient mode refuses what the strict one accepts");
                assert_eq!(everything(&insn), everything(&lenient), "strict and lenient: {:02x?}", insn.bytes());
            }
        }
    }
}

fn one_mode(bytes: &[u8; 16], mode: Mode) -> Option<Insn> {
    let insn = match decode(bytes, mode) {
        Ok(insn) => insn,
        Err(error) => {
            assert!(usize::from(error.offset) < MAX_LEN, "{bytes:02x?} {mode:?}: {error}");
            assert_ne!(error.kind, ErrorKind::Truncated, "{bytes:02x?} {mode:?}");
            // Fifteen bytes are all that counts.
            assert_eq!(decode(&bytes[..MAX_LEN], mode), Err(error), "{bytes:02x?} {mode:?}");
            return None;
        }
    };
    let len = insn.len();
    assert!((1..=MAX_LEN).contains(&len), "{bytes:02x?} {mode:?}");
    assert_eq!(insn.bytes(), &bytes[..len]);
    for end in 0..len {
        let error = decode(&bytes[..end], mode).expect_err("a part of an instruction is none");
        assert_eq!(
            (error.kind, usize::from(error.offset)),
            (ErrorKind::Truncated, end),
            "{:02x?} {mode:?}",
            insn.bytes()
        );
    }
    // Alone, and before other bytes: the short slice goes another way through the decoder.
    let mut other = [0xff; 16];
    other[..len].copy_from_slice(insn.bytes());
    for slice in [&bytes[..len], &other] {
        let again = decode(slice, mode).expect("an instruction depends on its own bytes alone");
        assert_eq!(again, insn);
        assert_eq!(everything(&again), everything(&insn), "{:02x?} {mode:?}", insn.bytes());
    }
    fields(&insn);
    Some(insn)
}

/// Every answer that an instruction gives.
fn everything(insn: &Insn) -> impl PartialEq + std::fmt::Debug + use<> {
    let place = (insn.opcode_offset(), insn.prefix_len(), insn.modrm_offset(), insn.sib_offset());
    let fields = (insn.encoding(), insn.map(), insn.opcode(), insn.prefixes(), insn.modrm(), insn.sib());
    let numbers = (insn.reg(), insn.rm(), insn.w(), insn.vvvv(), insn.operand_size(), insn.address_size());
    let values = (insn.displacement(), insn.immediate(), insn.immediate2(), insn.memory(), insn.implicit_memory());
    let far = u64::MAX - 7;
    let flow = (insn.flow(), insn.target(), insn.target_address(far), insn.target_address(0));
    let relative = (insn.is_rip_relative(), insn.rip_relative_address(far), insn.rip_relative_address(0));
    let registers = (insn.reads(), insn.writes(), insn.flags_read(), insn.flags_written());
    let effects = insn.effects();
    assert_eq!((effects.reads, effects.writes, effects.flags_read, effects.flags_written), registers);
    assert_eq!((effects.memory, effects.implicit_memory), (insn.memory(), insn.implicit_memory()));
    assert_eq!(effects.operand_size, insn.operand_size());
    (place, fields, numbers, values, flow, relative, registers)
}

fn fields(insn: &Insn) {
    let context = || format!("{:02x?} {:?}", insn.bytes(), insn.mode());
    let len = insn.len();
    assert!(insn.prefix_len() < len && insn.opcode_offset() < len, "{}", context());
    assert_eq!(insn.bytes().get(insn.opcode_offset()), Some(&insn.opcode()), "{}", context());
    let mut end = 0;
    for field in [insn.displacement(), insn.immediate(), insn.immediate2()].into_iter().flatten() {
        assert!(matches!(field.size, 1 | 2 | 4 | 8), "{}", context());
        assert!(usize::from(field.offset) >= end, "{}", context());
        end = usize::from(field.offset + field.size);
    }
    assert!(end <= len, "{}", context());
    for offset in [insn.modrm_offset(), insn.sib_offset()].into_iter().flatten() {
        assert!(offset < len, "{}", context());
    }
}
