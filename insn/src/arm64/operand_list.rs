//! Operands as a list: a table of its own (`generated/operand_list.rs`), written by insn/gen/src/arm64/operand_list.rs.

use super::codes::access::{READ, WRITE};
use super::codes::operand;
use super::generated::operand_list::{BITS, CHOICES, CODES, ITEMS, LINES, LISTS, NUMBERS, STARTS, VALUES};
use super::operand_codes::{BYTES, FLOATS, kind, view};
use super::operand_value::{float, function, gather};
use super::operands::{Used, registers};
use super::record::Record;
use super::{
    Address, Array, Condition, Direction, Insn, Memory, Operand, OperandKind, Predication, Reg, RegSet, Register,
    Shift, Slices, SystemRegister, View,
};
use crate::Access;

/// Registers that are no operands unless they are named.
const STATE: RegSet = RegSet::EMPTY
    .with(Reg::PC)
    .with(Reg::NZCV)
    .with(Reg::FPCR)
    .with(Reg::FPSR)
    .with(Reg::FPMR)
    .with(Reg::SVCR)
    .with(Reg::GCSPR)
    .with(Reg::TPIDR)
    .with(Reg::SYSTEM);
/// Vectors and predicates, which an instruction that has them all does not name.
const BANKS: RegSet = RegSet::from_bits(0xffff_ffff << 32 | 0xffff << 64);
/// Shifts by their numbers in a choice.
const SHIFTS: [Shift; 14] = [
    Shift::Lsl,
    Shift::Lsr,
    Shift::Asr,
    Shift::Ror,
    Shift::Uxtb,
    Shift::Uxth,
    Shift::Uxtw,
    Shift::Uxtx,
    Shift::Sxtb,
    Shift::Sxth,
    Shift::Sxtw,
    Shift::Sxtx,
    Shift::Msl,
    Shift::Mul,
];

impl Insn {
    /// The operands in the manual's order, then implicit general registers, ZA and ZT0. The address registers that `cpyp` and its like change
    /// are among the latter.
    ///
    /// They are those of the instruction that [`Insn::mnemonic`] names, not of an alias: `orr x0, xzr, x1` has three. A shift or an extension
    /// is an operand of its own behind what it shifts; the constituents of an address are not, [`Memory`] tells them. Flags, the status
    /// registers of floating point, and all vectors at once (`smstart`) are no operands: [`Insn::reads`] and [`Insn::writes`] have these.
    ///
    /// Only programs that call this function link the table, which has 50 KiB.
    ///
    /// ```
    /// use insn::Access;
    /// use insn::arm64::{OperandKind, Reg, Shift, View, decode};
    ///
    /// // add w0, w1, w2, lsl #3
    /// let operands: Vec<_> = decode(0x0b02_0c20)?.operands().collect();
    /// let OperandKind::Register(first) = operands[0].kind else { panic!("a register") };
    /// assert_eq!((first.reg, first.view, operands[0].access), (Reg::general(0), View::Scalar(4), Access::Write));
    /// assert_eq!(operands[3].kind, OperandKind::Shift { kind: Shift::Lsl, amount: 3 });
    ///
    /// // and x0, x1, #0xff00ff00ff00ff
    /// let mask = decode(0x9200_9c20)?.operands().nth(2);
    /// assert_eq!(mask.map(|mask| mask.kind), Some(OperandKind::Immediate(0x00ff_00ff_00ff_00ff)));
    /// # Ok::<(), insn::arm64::Error>(())
    /// ```
    pub fn operands(&self) -> impl Iterator<Item = Operand> + use<> {
        let insn = *self;
        let record = insn.record();
        let memories = insn.memories_by(record);
        let Used { reads, writes, .. } = insn.registers_by(record);
        let codes = insn.listed();
        let told = move |index: usize| codes.get(..index).unwrap_or(&[]).iter().filter(is_memory).count();
        let memory = move |index: usize| memories.get(told(index)).copied().flatten();
        let explicit = codes.iter().enumerate().filter_map(move |(index, number)| {
            let code = CODES.get(usize::from(*number))?;
            let kind = insn.kind_of(code, memory(index))?;
            Some(Operand { kind, access: insn.access_of(record, code, kind, reads, writes), implicit: false })
        });
        let named = explicit.clone().fold(RegSet::EMPTY, |set, operand| set.union(operand.kind.named()));
        // Memory tells the registers of its address, and that one is written back; not that `cpyp` and its like change theirs.
        let is_told = move |reg: Reg| {
            let mut memories = memories.iter().flatten();
            let is_base = |memory: &Memory| memory.base == Address::Register(reg) && memory.writeback.is_some();
            memories.any(|memory| memory.registers().contains(reg) && (!writes.contains(reg) || is_base(memory)))
        };
        let used = reads.union(writes).difference(STATE).difference(BANKS);
        let implicit = used.difference(named).iter().filter_map(move |reg| {
            let kind = match reg {
                Reg::ZA => OperandKind::Array(Array { tile: None, size: 0, direction: None, slices: None }),
                _ if is_told(reg) => return None,
                _ => OperandKind::Register(Register {
                    reg,
                    view: View::Scalar(if reg == Reg::ZT0 { 64 } else { 8 }),
                    index: None,
                    predication: None,
                }),
            };
            Some(Operand { kind, access: used_as(reads.contains(reg), writes.contains(reg)), implicit: true })
        });
        explicit.chain(implicit)
    }
    /// The numbers of the codes of the first line that fits.
    fn listed(&self) -> &'static [u16] {
        let find = || {
            let start = *STARTS.get((self.word >> 24) as usize)?;
            let lines = NUMBERS.get(usize::from(start)..)?.iter().filter_map(|number| LINES.get(usize::from(*number)));
            let line = { lines }.find(|line| (self.word ^ line.value) & line.mask == 0)?;
            LISTS.get(usize::from(line.start)..)?.get(..usize::from(line.count))
        };
        find().unwrap_or(&[])
    }
    fn kind_of(&self, code: &[u8; BYTES], memory: Option<Memory>) -> Option<OperandKind> {
        let [what, count, stride, choice, first, second, third] = *code;
        let item = self.item(choice);
        let immediate = self.value(first).unwrap_or(0);
        let offset = |number| self.value(number).map(|value| value as u8);
        Some(match what {
            kind::MEMORY => OperandKind::Memory(memory?),
            kind::IMMEDIATE => OperandKind::Immediate(immediate),
            kind::LABEL => OperandKind::Label(immediate),
            kind::CONDITION => OperandKind::Condition(Condition::new(immediate as u32)),
            kind::FLOAT if first != 0 => {
                OperandKind::Float(float(self.word, VALUES.get(usize::from(first)).map_or(0, |value| value.special)))
            }
            kind::FLOAT => OperandKind::Float(FLOATS.get(usize::from(item)).map_or(0, |value| value.to_bits())),
            kind::SHIFT => OperandKind::Shift { kind: *SHIFTS.get(usize::from(item))?, amount: immediate as u8 },
            kind::SYSTEM => OperandKind::System(SystemRegister::from_bits(immediate as u16)),
            kind::STATE => OperandKind::PstateField(immediate as u8),
            kind::ARRAY => OperandKind::Array(Array {
                tile: self.value(first).map(|tile| tile as u8),
                size: size(item),
                direction: match item >> view::MODE {
                    view::HORIZONTAL => Some(Direction::Horizontal),
                    view::VERTICAL => Some(Direction::Vertical),
                    _ => None,
                },
                slices: self.value(second).map(|index| Slices {
                    index: Reg::general(index as u32),
                    offset: offset(third).unwrap_or(0),
                    count: count.max(1),
                    groups: if stride > 1 { stride } else { 0 },
                }),
            }),
            kind::PREDICATE if third != 0 => OperandKind::Element {
                register: register(what, immediate as u32, item, None),
                index: Reg::general(self.value(second)? as u32),
                offset: offset(third)?,
            },
            _ => {
                let first = register(what, immediate as u32, item, offset(second));
                if count == 0 { OperandKind::Register(first) } else { OperandKind::Registers { first, count, stride } }
            }
        })
    }
    /// The value with that number; `None` for number 0.
    fn value(&self, number: u8) -> Option<i64> {
        let value = VALUES.get(usize::from(number)).filter(|_| number != 0)?;
        if value.special != 0 {
            return Some(function(self.word, value.special));
        }
        let bits = bits(value.bits);
        let plain = i64::from(gather(self.word, bits));
        let unused = 64u32.wrapping_sub(bits.len() as u32);
        let number = if value.signed { plain.wrapping_shl(unused).wrapping_shr(unused) } else { plain };
        Some(number.wrapping_mul(value.scale.into()).wrapping_add(value.add.into()))
    }
    /// What a choice gives.
    fn item(&self, number: u8) -> u8 {
        let choice = CHOICES.get(usize::from(number));
        let item = choice.and_then(|choice| {
            let chosen = gather(self.word, bits(choice.bits)) as usize;
            ITEMS.get(usize::from(choice.start).wrapping_add(chosen))
        });
        item.copied().unwrap_or(0)
    }
    /// How an operand is used: as the form's operand in the same bits is, or else as any of its registers is.
    fn access_of(
        &self,
        record: Record,
        code: &[u8; BYTES],
        kind: OperandKind,
        reads: RegSet,
        writes: RegSet,
    ) -> Access {
        let set = match kind {
            OperandKind::Memory(memory) => return memory.access,
            OperandKind::Array(_) => RegSet::EMPTY.with(Reg::ZA),
            OperandKind::System(_) => return self.access_of_system(record),
            OperandKind::PstateField(_) => return Access::Write,
            OperandKind::Element { register, .. } => RegSet::EMPTY.with(register.reg),
            _ => kind.named(),
        };
        if set.is_empty() {
            return Access::Read;
        }
        let [_, _, _, _, first, ..] = *code;
        let place = VALUES.get(usize::from(first)).and_then(|value| bits(value.bits).last().copied());
        let same = record.operands().filter(|code| {
            let (low, width) = (*code >> operand::POSITION & 31, *code >> operand::WIDTH & 7);
            let is_there = place.is_some_and(|place| u32::from(place).wrapping_sub(low) < width);
            is_there && registers(self.word, *code).union(set) == registers(self.word, *code)
        });
        let (found, used) = same.fold((false, 0), |(_, used), code| (true, used | code & (READ | WRITE)));
        if found {
            return used_as(used & READ != 0, used & WRITE != 0);
        }
        let is_of = |all: RegSet| !set.intersection(all).is_empty();
        // The zero register belongs to neither set.
        if is_of(writes) { used_as(is_of(reads), true) } else { Access::Read }
    }
    /// `mrs` reads a system register, `msr` writes one.
    fn access_of_system(&self, record: Record) -> Access {
        let [read, read_high, written, written_high] = *record.implied();
        if read | read_high != 0 || written | written_high == 0 && self.word >> 21 & 1 == 1 {
            Access::Read
        } else {
            Access::Write
        }
    }
}

fn is_memory(number: &&u16) -> bool {
    CODES.get(usize::from(**number)).is_some_and(|code| code.first() == Some(&kind::MEMORY))
}

fn bits((start, count): (u16, u8)) -> &'static [u8] {
    BITS.get(usize::from(start)..).and_then(|rest| rest.get(..usize::from(count))).unwrap_or(&[])
}

fn used_as(read: bool, written: bool) -> Access {
    match (read, written) {
        (true, true) => Access::ReadWrite,
        (false, true) => Access::Write,
        (true, false) => Access::Read,
        (false, false) => Access::None,
    }
}

/// Bytes that a view tells.
fn size(item: u8) -> u8 {
    1u8.wrapping_shl(u32::from(item >> view::SIZE & 7)) >> 1
}

fn register(what: u8, number: u32, item: u8, index: Option<u8>) -> Register {
    let size = size(item);
    let (reg, view) = match what {
        kind::GENERAL => (Reg::general(number), View::Scalar(size)),
        kind::GENERAL_OR_SP => (Reg::general_or_sp(number), View::Scalar(size)),
        kind::SCALAR => (Reg::vector(number), View::Scalar(size)),
        kind::VECTOR => {
            let lanes = 1u8.wrapping_shl(u32::from(item >> view::LANES & 7)) >> 1;
            (Reg::vector(number), View::Vector { lanes, size })
        }
        kind::SCALABLE => (Reg::vector(number), View::Scalable(size)),
        kind::PREDICATE => (Reg::predicate(number), View::Scalable(size)),
        kind::COUNTER => (Reg::predicate(number), View::Counter(size)),
        _ => (Reg::ZT0, View::Scalar(64)),
    };
    let predication = match item >> view::MODE {
        view::ZEROING => Some(Predication::Zeroing),
        view::MERGING => Some(Predication::Merging),
        _ => None,
    };
    Register { reg, view, index, predication }
}
