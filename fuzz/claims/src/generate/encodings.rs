//! One encoding of each kind: every map, prefix, opcode and modrm.reg, with memory and with registers, and of the fields of a vector
//! prefix those that choose an instruction.

use insn::x86::Bits;

use super::forms::each_opcode;

const PREFIXES: [&[u8]; 4] = [&[], &[0x66], &[0xf3], &[0xf2]];
const ESCAPES: [&[u8]; 4] = [&[], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]];
/// mod and rm: memory by a register, and by an index; a register.
const FEW: [u8; 3] = [0x00, 0x04, 0xc1];
/// mod and rm with every register, which may be part of the opcode.
const ALL: [u8; 10] = [0x00, 0x04, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7];
/// The fourth byte of EVEX: the length; then b, a mask, a mask that zeroes, ND, and NF.
const LAST: [u8; 8] = [0x08, 0x28, 0x48, 0x18, 0x09, 0x89, 0x1c, 0x0c];

/// Shows each of them, followed by bytes that make no register of themselves.
pub fn encodings(bits: Bits, visit: &mut dyn FnMut(&[u8])) {
    let wide = bits == Bits::B64;
    for prefix in PREFIXES {
        for escape in ESCAPES {
            each_opcode(&[prefix, escape].concat(), &ALL, visit);
            if wide {
                each_opcode(&[prefix, &[0x48], escape].concat(), &ALL, visit);
            }
        }
        // REX2: the map and W.
        for payload in [0x00, 0x08, 0x80, 0x88].into_iter().filter(|_| wide) {
            each_opcode(&[prefix, &[0xd5, payload]].concat(), &FEW, visit);
        }
    }
    // W, and pp with the length 128 and 256; vvvv names no register, and one.
    let fields = (0..8_u8).flat_map(|low| [0x78, 0x68].map(|vvvv| vvvv | low)).flat_map(|low| [low, low | 0x80]);
    for field in fields {
        for map in 1..=7 {
            each_opcode(&[0xc4, 0xe0 | map, field], &FEW, visit);
        }
        for map in 8..=10 {
            each_opcode(&[0x8f, 0xe0 | map, field], &FEW, visit);
        }
    }
    for (map, field) in (1..=7_u8).flat_map(|map| (0..4_u8).map(move |pp| (map, 0x7c | pp))) {
        for (w, vvvv) in [(0, 0), (0x80, 0), (0, 0x10), (0x80, 0x10)] {
            for last in LAST {
                each_opcode(&[0x62, 0xf0 | map, field ^ vvvv | w, last], &FEW, visit);
            }
        }
    }
}
