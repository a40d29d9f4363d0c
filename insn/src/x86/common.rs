//! Common effects: of 64-bit mode's instructions in the legacy maps, without address-size prefix and string operations.
//!
//! A form's record (`generated/common.rs`, [`codes::common`](super::codes::common)) tells everything by a few look-ups. Nothing branches on
//! what kind of instruction it is, because no processor predicts that.

use super::address_fields;
use super::codes::common::{self as record, implicit, select, usage};
use super::codes::{access, bank};
use super::effects::Effects;
use super::flags::{Flagged, has_count};
use super::generated::common::{IMPLIED, LISTS, OPCODES, RECORDS, SIZES, WHOLES};
use super::generated::semantics::FLAGS;
use super::insn::{NO_SEGMENT, ext, shape};
use super::{Flags, Insn, Memory, Prefixes, Reg, RegSet, Vendor};
use crate::Access;

/// Vector registers in the low word of a set.
const VECTORS: u64 = 0xffff_ffff << bank::VECTOR;

/// The registers that a field reads and writes, by the selecting bits of [`usage`] and the number in it.
struct Fields {
    read: [u64; 256],
    written: [u64; 256],
}

static FIELDS: Fields = {
    let mut fields = Fields { read: [0; 256], written: [0; 256] };
    let mut at = 0;
    while at < 256 {
        let (used, number) = (at as u8, at as u32 & 15);
        let bit: u64 = match used & (usage::VECTOR | usage::BYTE) {
            0 => 1 << number,
            usage::VECTOR => 1 << (bank::VECTOR as u32 + number),
            // ah to bh are parts of rax to rbx.
            usage::BYTE if number & 12 == 4 => 1 << (number - 4),
            usage::BYTE => 1 << number,
            _ => 0,
        };
        let is_index = used & usage::SELECTING == usage::INDEX && number != 4;
        fields.read[at] = if is_index { 1 << number } else { bit & all_if(used & usage::READ != 0) };
        fields.written[at] = bit & all_if(used & usage::WRITTEN != 0);
        at += 1;
    }
    fields
};

const ACCESSES: [Access; 4] = {
    let mut accesses = [Access::None; 4];
    accesses[access::READ as usize] = Access::Read;
    accesses[access::WRITE as usize] = Access::Write;
    accesses[access::READ_WRITE as usize] = Access::ReadWrite;
    accesses
};

/// All bits if it holds.
#[inline(always)]
const fn all_if(holds: bool) -> u64 {
    (holds as u64).wrapping_neg()
}

#[inline(always)]
fn set(words: [u64; 2]) -> RegSet {
    RegSet::from_bits(u128::from(words[0]) | u128::from(words[1]) << 64)
}

impl Insn {
    /// The fields that modrm has. Where there is no modrm, the opcode's low bits name a register.
    #[inline(always)]
    fn modrm_or_opcode(&self) -> u8 {
        let after_opcode = self.behind as u8;
        // Masked, not branched: the highest bit of the shape is that of modrm.
        const { assert!(shape::MODRM == 0x80) };
        let mask = (self.shape as i8 >> 7) as u8;
        after_opcode & mask | (self.opcode | 0xc0) & !mask
    }
    /// The record of the instruction.
    #[inline(always)]
    pub(super) fn record(&self) -> Option<u64> {
        if self.unusual != 0 {
            return None;
        }
        let choosing = address_fields::of_modrm(self.modrm_or_opcode()).choosing()
            | u32::from(self.pp) << select::PP
            | u32::from(self.ext) << select::EXT;
        let at = usize::from(self.space & 3) << 8 | usize::from(self.opcode);
        let entry = OPCODES[at & 0x3ff];
        let place = choosing.wrapping_shr(entry >> select::POSITION) & entry >> select::MASK & 0xff;
        let number = *LISTS.get(((entry & 0xffff) + place) as usize)?;
        let found = *RECORDS.get(usize::from(number))?;
        let is_amd_word = self.mode.vendor == Vendor::Amd && u16::from(self.prefixes) & Prefixes::OPERAND_SIZE != 0;
        let usable = found != 0 && !(is_amd_word && found & record::VENDOR != 0);
        usable.then_some(found)
    }
    /// By the record: the operand size in the lowest byte, and the size of memory.
    #[inline(always)]
    fn sizes(&self, record: u64) -> u64 {
        let sizes = SIZES[(record >> record::SIZES & 31) as usize];
        let small = u32::from(self.prefixes) & Prefixes::OPERAND_SIZE as u32;
        sizes.wrapping_shr(if self.ext & ext::W != 0 { 16 } else { 8 - small })
    }
    /// The flags that a record tells.
    #[inline(always)]
    pub(super) fn common_flags(&self, record: u64) -> Flagged {
        let [read, written, mut overwritten, undefined] = FLAGS[(record >> record::FLAGS) as usize];
        if record & record::COUNT != 0 && !has_count(self, self.sizes(record) as u8) {
            overwritten = 0;
        }
        Flagged {
            read: Flags::from_bits(read),
            written: Flags::from_bits(written),
            overwritten: Flags::from_bits(overwritten),
            undefined: Flags::from_bits(undefined),
        }
    }
    /// The effects that a record tells.
    #[inline(always)]
    pub(super) fn common_effects(&self, record: u64) -> Effects {
        let modrm = self.modrm_or_opcode();
        let fields = address_fields::of_modrm(modrm);
        let (has_sib, is_relative) = (fields.has_sib(), fields.is_relative());
        let sib = if has_sib { address_fields::of_sib((self.behind >> 8) as u8, modrm) } else { 0 };
        let ([reg, rm, index], rip) = fields.used(address_fields::of_rex(self.ext), sib, record);

        // The memory operand of modrm. Most of it is masked, not branched.
        let (rm_number, index_number) = (rm as u8 & 15, index as u8 & 15);
        let no_base = is_relative | (sib >> record::RM & u32::from(usage::NONE) != 0);
        let is_memory = record & record::IN_MEMORY != 0;
        let mut high = u64::from(rip);
        let on_stack = !no_base & (rm_number & !1 == 4);
        let mut segment = if on_stack { Reg::SS } else { Reg::DS };
        if self.segment != NO_SEGMENT {
            segment = Reg::segment(self.segment);
            let base = if segment == Reg::FS { Reg::FS_BASE } else { Reg::GS_BASE };
            let is_used = record & u64::from(record::RIP) != 0 && record & record::NO_SEGMENT == 0;
            high |= u64::from(is_used) << (base.number() & 63);
        }
        let at = u32::from(self.opcode_at.wrapping_add(2).wrapping_add(u8::from(has_sib)) & 15);
        let word = u128::from_le_bytes(self.bytes).wrapping_shr(8 * at) as i32;
        let unused = if modrm & 0xc0 == 0x40 { 24 } else { 0 };
        let displacement = i64::from(word.wrapping_shl(unused).wrapping_shr(unused));
        let base_reg = if is_relative { Reg::RIP } else { Reg::gpr(rm_number) };
        let has_index = has_sib & (index_number != 4);
        let sizes = self.sizes(record);
        let operand_size = sizes as u8;
        let memory = Memory {
            segment,
            base: (!no_base | is_relative).then_some(base_reg),
            index: has_index.then_some(Reg::gpr(index_number)),
            scale: if has_sib { 1 << (self.behind >> 14 & 3) } else { 1 },
            displacement: if (modrm >= 0x40) | no_base { displacement } else { 0 },
            size: (sizes >> record::MEMORY_SIZES) as u8 as u16,
            address_size: 8,
            access: ACCESSES[(record >> record::ACCESS & 3) as usize],
        };

        let stack = (record >> record::STACK) as u8 & 3;
        let pushed = i64::from(operand_size) & all_if(stack == implicit::PUSH) as i64;
        let on_stack = Memory {
            segment: Reg::SS,
            base: Some(if stack == implicit::LEAVE { Reg::RBP } else { Reg::RSP }),
            index: None,
            scale: 1,
            displacement: -pushed,
            size: operand_size.into(),
            address_size: 8,
            access: ACCESSES[if stack == implicit::PUSH { access::WRITE } else { access::READ } as usize],
        };

        let flags = self.common_flags(record);
        let implied = &IMPLIED[(record >> record::IMPLIED & 127) as usize];
        let is_word = u32::from(self.prefixes & Prefixes::OPERAND_SIZE as u8 & !self.ext & ext::W);
        let wholes = &WHOLES[(record >> record::WHOLE & 63) as usize];
        let by_size = if is_word != 0 { [wholes[2], wholes[3]] } else { [wholes[0], wholes[1]] };
        // A word keeps the rest of a general register.
        const { assert!(Prefixes::OPERAND_SIZE as u8 == ext::W && ext::W == 8 && usage::WHOLE_BY_WORD == usage::WHOLE << 1) };
        let whole_of = |at: u32, field: usize| {
            FIELDS.written[field] & all_if(record.wrapping_shr(at + is_word / 8) & u64::from(usage::WHOLE) != 0)
        };
        let whole = by_size[0] | whole_of(record::REG, reg) | whole_of(record::RM, rm);
        Effects {
            reads: set([implied[0] | FIELDS.read[reg] | FIELDS.read[rm] | FIELDS.read[index], implied[1] | high]),
            writes: set([implied[2] | FIELDS.written[reg] | FIELDS.written[rm], implied[3]]),
            overwrites: set([whole & !VECTORS, by_size[1]]),
            overwrites_low: set([whole & VECTORS, 0]),
            flags_read: flags.read,
            flags_written: flags.written,
            flags_overwritten: flags.overwritten,
            flags_undefined: flags.undefined,
            memory: is_memory.then_some(memory),
            implicit_memory: [(stack != implicit::NONE).then_some(on_stack), None],
            operand_size,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Mode, decode};

    /// An encoding of the opcode with the modrm byte: the numbers that `random` gives choose prefixes, REX and what follows.
    fn encoding(space: u8, opcode: u8, modrm: u8, mut random: impl FnMut() -> u64) -> [u8; 15] {
        const PREFIXES: [&[u8]; 8] = [&[], &[], &[0x66], &[0xf2], &[0xf3], &[0x64], &[0x65, 0x66], &[0x66, 0xf3]];
        const ESCAPES: [&[u8]; 4] = [&[], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]];
        let chosen = random();
        let rex = [0x40 | chosen as u8 >> 4];
        let rex = if chosen & 8 != 0 { &rex[..] } else { &[] };
        let prefixes = PREFIXES[chosen as usize & 7];
        let rest = random().to_le_bytes();
        let parts = [prefixes, rex, ESCAPES[usize::from(space)], &[opcode, modrm], &rest];
        let mut bytes = [0; 15];
        bytes.iter_mut().zip(parts.into_iter().flatten()).for_each(|(to, byte)| *to = *byte);
        bytes
    }

    #[test]
    fn records_tell_what_the_general_tables_tell_of_every_opcode_and_modrm() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let (mut told, mut decoded) = (0, 0);
        for at in 0..4 * 256 * 256 * 8 {
            let [modrm, opcode, rest, _] = u32::to_le_bytes(at);
            let bytes = encoding(rest & 3, opcode, modrm, &mut random);
            let mode = [Mode::INTEL_64, Mode::AMD_64, Mode::AMD_64.lenient(), Mode::INTEL_32][random() as usize & 3];
            let Ok(insn) = decode(&bytes, mode) else { continue };
            decoded += 1;
            if let Some(record) = insn.record() {
                told += 1;
                assert_eq!(insn.common_effects(record), insn.general_effects(), "{insn:?}");
            }
        }
        assert!(told > decoded / 3, "{told} of {decoded}");
    }

    #[test]
    fn what_a_record_does_not_tell_takes_the_general_path() {
        let told = |bytes: &[u8], mode| decode(bytes, mode).unwrap().record().is_some();
        assert!(told(&[0x48, 0x89, 0xc8], Mode::INTEL_64));
        assert!(!told(&[0x89, 0xc8], Mode::INTEL_32));
        for other in [&[0xf3, 0xa4][..], &[0x67, 0x8b, 0x00], &[0xc5, 0xf8, 0x77], &[0x9c], &[0x0f, 0x6f, 0xc1]] {
            assert!(!told(other, Mode::INTEL_64), "{other:x?}");
        }
    }
}
