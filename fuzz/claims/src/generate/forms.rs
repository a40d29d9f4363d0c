use insn::x86::Bits;

/// What stands before legacy opcodes; with a REX in 64-bit mode only.
const PREFIXES: &[&[u8]] = &[
    &[],
    &[0x66],
    &[0xf2],
    &[0xf3],
    &[0xf0],
    &[0x67],
    &[0x2e],
    &[0x66, 0xf2],
    &[0x66, 0xf3],
    &[0xf2, 0x66],
    &[0xf2, 0xf3],
    &[0xf3, 0xf2],
    &[0xf0, 0x66],
    &[0xf0, 0xf2],
    &[0xf0, 0xf3],
];
const REX: &[&[u8]] = &[
    &[0x48],
    &[0x44],
    &[0x41],
    &[0x66, 0x48],
    &[0xf2, 0x48],
    &[0xf3, 0x48],
    &[0xf3, 0x41],
    &[0x66, 0xf2, 0x48],
    &[0x48, 0x66],
    &[0x48, 0xf3],
    &[0x40, 0x48],
];
/// Prefixes that vector encodings do not bear, or that change nothing.
const RARE: &[&[u8]] = &[&[0x66], &[0xf2], &[0xf3], &[0xf0], &[0x67], &[0x48]];
const ESCAPES: &[&[u8]] = &[&[], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a], &[0x0f, 0x0f]];
/// mod and rm: memory by a register, by an index, by a displacement; and registers.
const OPERANDS: &[u8] = &[0x00, 0x04, 0x05, 0x40, 0x84, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7];
/// mod and rm for encodings whose prefix fields matter more than rm.
const FEW: &[u8] = &[0x00, 0x04, 0xc1, 0xc4];

/// Every combination of encoding, map, prefix, opcode, modrm.reg and form of operand, and of EVEX's fields those that differ from the
/// usual in one place.
pub fn forms(bits: Bits, visit: &mut dyn FnMut(&[u8])) {
    let wide = bits == Bits::B64;
    let rex = if wide { REX } else { &[] };
    for prefix in PREFIXES.iter().chain(rex) {
        for escape in ESCAPES {
            each_opcode(&[prefix, *escape].concat(), OPERANDS, visit);
        }
    }
    if wide {
        for payload in 0..=0xff {
            each_opcode(&[0xd5, payload], if payload & 0x7f == 0 { OPERANDS } else { FEW }, visit);
        }
    }
    vex(wide, visit);
    evex(wide, visit);
}

fn vex(wide: bool, visit: &mut dyn FnMut(&[u8])) {
    let registers: &[u8] = if wide { &[0xe0, 0x60, 0xa0, 0xc0, 0x00] } else { &[0xe0] };
    for fields in 0..=0xff_u8 {
        let is_usual = matches!(fields & 0x78, 0x78 | 0x50);
        let operands = if is_usual { OPERANDS } else { FEW };
        each_opcode(&[0xc5, fields | if wide { 0 } else { 0x80 }], operands, visit);
        for map in 1..=3 {
            for (number, high) in registers.iter().enumerate() {
                each_opcode(&[0xc4, high | map, fields], if number == 0 { operands } else { FEW }, visit);
            }
            for prefix in RARE.iter().filter(|prefix| is_usual && (wide || prefix[0] != 0x48)) {
                each_opcode(&[prefix, &[0xc4, 0xe0 | map, fields][..]].concat(), FEW, visit);
            }
        }
        for map in (0..32).filter(|map| is_usual && !(1..=3).contains(map)) {
            each_opcode(&[0xc4, 0xe0 | map, fields], FEW, visit);
            if map >= 8 {
                each_opcode(&[0x8f, 0xe0 | map, fields], FEW, visit);
            }
        }
    }
}

fn evex(wide: bool, visit: &mut dyn FnMut(&[u8])) {
    // Bits that are inverted or fixed: R, X, B, R' and B4; vvvv and U; V'.
    let one_place: &[[u8; 3]] = &[
        [0, 0, 0],
        [0x80, 0, 0],
        [0x40, 0, 0],
        [0x20, 0, 0],
        [0x10, 0, 0],
        [0x08, 0, 0],
        [0, 0x78, 0],
        [0, 0x28, 0],
        [0, 0x04, 0],
        [0, 0, 0x08],
    ];
    for (map, pp) in (0..8).flat_map(|map| (0..4).map(move |pp| (map, pp))) {
        for (change, w) in one_place.iter().flat_map(|change| [(change, 0), (change, 0x80)]) {
            // Outside 64-bit mode R and X say that this is EVEX and not BOUND.
            if !wide && change[0] & 0xc0 != 0 {
                continue;
            }
            for last in 0..=0xff_u8 {
                // z, L'L and b; of aaa no mask, or k1.
                if last & 0x0e != 8 || change != &[0; 3] && last & 0x91 != 0 {
                    continue;
                }
                let payload = [0xf0 ^ change[0] | map, 0x7c ^ change[1] | w | pp, last ^ change[2]];
                each_opcode(&[0x62, payload[0], payload[1], payload[2]], FEW, visit);
            }
        }
        for prefix in RARE.iter().filter(|prefix| wide || prefix[0] != 0x48) {
            each_opcode(&[prefix, &[0x62, 0xf0 | map, 0x7c | pp, 0x28][..]].concat(), FEW, visit);
        }
    }
}

/// Every opcode behind `before`, with every modrm.reg and the given mod and rm.
pub(super) fn each_opcode(before: &[u8], operands: &[u8], visit: &mut dyn FnMut(&[u8])) {
    let mut bytes = [0; 15];
    let (head, rest) = bytes.split_at_mut(before.len());
    head.copy_from_slice(before);
    // A SIB with an index, then displacement and immediates, of which none makes a register of itself.
    for (number, byte) in rest.iter_mut().enumerate() {
        *byte = 0x11 + number as u8;
    }
    for opcode in 0..=0xff {
        bytes[before.len()] = opcode;
        for reg in 0..8 {
            for operand in operands {
                bytes[before.len() + 1] = operand | reg << 3;
                visit(&bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_legacy_opcode_of_every_map_is_there_in_both_modes() {
        for bits in [Bits::B64, Bits::B32] {
            let mut seen = HashSet::new();
            forms(bits, &mut |bytes| {
                let shape = crate::shape::Shape::of(bytes, bits);
                seen.extend(shape.map(|shape| (shape.encoding, shape.map, shape.opcode)));
            });
            for encoding in ["vex", "evex"] {
                assert!((0..=255).all(|opcode| seen.contains(&(encoding, 2, opcode))), "{encoding} {bits:?}");
            }
            assert!(seen.contains(&("legacy", 3, 0x0f)) && seen.contains(&("xop", 9, 0x80)), "{bits:?}");
        }
    }
}
