//! What common instructions of 64-bit mode do to flags and where they lead, by opcode: for scans ([`super::liveness`]).
//!
//! The table here has what records of common effects tell of flags, and the flow of the hot tables, rearranged so that few steps give them.

use super::Flags;
use super::codes::common::{self as record, select};
use super::codes::{entry, flow};
use super::generated::common::{LISTS, OPCODES, RECORDS, SIZES};
use super::generated::hot::HOT;
use super::generated::semantics::FLAGS;
use super::step::{CONSIDERED, Lead};

/// What an instruction does to flags, and where it leads.
#[derive(Clone, Copy)]
pub(super) struct Row(u32);

/// Position of the flags that the instruction overwrites; those that it reads are in the lowest bits.
const OVERWRITTEN: u32 = 12;
/// Position of the number of a [`Lead`].
const LEAD: u32 = 24;
/// The distance has four bytes, not one.
const LONG: u32 = 1 << 26;
/// The flags are overwritten only if the immediate, which is a count, is not 0.
const COUNT: u32 = 1 << 27;
/// The row does not tell what the instruction does.
const OTHER: u32 = 1 << 28;
/// All flags that are considered.
const ALL: u32 = (1 << OVERWRITTEN) - 1;
/// By their numbers.
const LEADS: [Lead; 4] = [Lead::Next, Lead::Branch, Lead::Jump, Lead::Away];

impl Row {
    #[inline(always)]
    pub(super) fn read(self) -> Flags {
        Flags::from_bits(self.0 & ALL)
    }
    /// The flags that the instruction overwrites if it has a count, or needs none.
    #[inline(always)]
    pub(super) fn overwritten(self) -> Flags {
        Flags::from_bits(self.0 >> OVERWRITTEN & ALL)
    }
    #[inline(always)]
    pub(super) fn lead(self) -> Lead {
        LEADS[(self.0 >> LEAD & 3) as usize]
    }
    /// Whether the distance has four bytes.
    #[inline(always)]
    pub(super) fn is_long(self) -> bool {
        self.0 & LONG != 0
    }
    /// Whether the row tells everything.
    #[inline(always)]
    pub(super) fn is_plain(self) -> bool {
        self.0 & (COUNT | OTHER) == 0
    }
    /// Whether the row tells everything but the count, on which depends whether flags are overwritten.
    #[inline(always)]
    pub(super) fn is_counted(self) -> bool {
        self.0 & OTHER == 0
    }
}

/// The number of rows, with room to spare, so that no number of one is too great.
const ROOM: usize = 1 << NUMBER_BITS;
/// The number of bits of a row's number.
const NUMBER_BITS: u32 = 7;
/// The number of bits of an element of [`NUMBERS`].
pub(super) const BITS: u32 = NUMBER_BITS + 3;
/// Values of modrm.reg.
const REGS: usize = 8;

/// All rows.
pub(super) static ROWS: [Row; ROOM] = TABLE.rows;

/// By the opcode, behind 0F in the second half: the number of its first row, and above [`NUMBER_BITS`] bits those of modrm.reg that choose
/// among its rows.
pub(super) const NUMBERS: [u16; 512] = TABLE.numbers;

/// The row of an opcode and a value of modrm.reg, by an element of [`NUMBERS`].
#[inline(always)]
pub(super) fn row(numbers: u32, reg: u32) -> Row {
    ROWS[((numbers + (numbers >> NUMBER_BITS & reg)) as usize) & (ROOM - 1)]
}

struct Table {
    rows: [Row; ROOM],
    numbers: [u16; 512],
}

const TABLE: Table = {
    const { assert!(CONSIDERED.bits() & !ALL == 0) };
    let mut table = Table { rows: [Row(0); ROOM], numbers: [0; 512] };
    let (mut used, mut opcode) = (0, 0);
    while opcode < 512 {
        let mut rows = [Row(OTHER); REGS];
        let (mut reg, mut are_same) = (0, true);
        while reg < REGS {
            // No scan looks up a row for bytes that are no instruction.
            match row_of(opcode, reg) {
                None if reg > 0 => rows[reg] = rows[reg - 1],
                None => {}
                Some(row) => rows[reg] = row,
            }
            are_same &= rows[reg].0 == rows[0].0;
            reg += 1;
        }
        let count = if are_same { 1 } else { REGS };
        let start = place(&table.rows, used, &rows, count);
        let mut n = 0;
        while n < count {
            table.rows[start + n] = rows[n];
            n += 1;
        }
        used = if start + count > used { start + count } else { used };
        table.numbers[opcode] = (start | (count - 1) << NUMBER_BITS) as u16;
        opcode += 1;
    }
    table
};

/// The place of `count` rows among the first `used`, or at and behind their end.
const fn place(rows: &[Row; ROOM], used: usize, wanted: &[Row; REGS], count: usize) -> usize {
    let mut start = 0;
    loop {
        let mut n = 0;
        while n < count && (start + n >= used || rows[start + n].0 == wanted[n].0) {
            n += 1;
        }
        if n == count {
            return start;
        }
        start += 1;
    }
}

/// The row of an opcode and a value of modrm.reg, without prefix but REX; `None` if there is no such instruction.
const fn row_of(opcode: usize, reg: usize) -> Option<Row> {
    let hot = if opcode < 256 { HOT.one_byte[opcode] } else { HOT.two_byte[opcode - 256] };
    let group = HOT.groups[(hot >> entry::GROUP) as usize];
    if hot & entry::ALIKE == 0 || group & 0x0101_0101 << reg == 0 {
        return None;
    }
    // Of the x87 and of the system, with more rows than there is room for.
    if matches!(opcode, 0xd9 | 0xda | 0xdd | 0xdf | 0x100 | 0x101) {
        return Some(Row(OTHER));
    }
    let immediate = hot >> entry::IMMEDIATE & 0xff;
    let lead = match (group >> 32 >> (4 * reg)) as u8 & 15 {
        flow::NEXT => Lead::Next,
        flow::CONDITIONAL_JUMP if immediate != 0 => Lead::Branch,
        flow::JUMP | flow::CALL if immediate != 0 => Lead::Jump,
        flow::RETURN | flow::INDIRECT_JUMP | flow::INDIRECT_CALL => Lead::Away,
        // The kernel sees what the flags are.
        flow::SYSCALL => return Some(Row((Lead::Away as u32) << LEAD)),
        _ => return Some(Row(OTHER)),
    };
    // The records that the instruction's other fields choose must agree.
    let common = OPCODES[opcode];
    let (position, mask) = (common >> select::POSITION, common >> select::MASK & 0xff);
    // The fields without modrm.reg and mandatory prefix.
    let free = (mask << position) & !(7 << 3 | 3 << select::PP);
    let (mut found, mut field) = (None, 0);
    loop {
        let chosen = (field | (reg as u32) << 3) >> position & mask;
        let one = of_record(RECORDS[LISTS[((common & 0xffff) + chosen) as usize] as usize], lead, immediate);
        match found {
            Some(row) if row != one => return Some(Row(OTHER)),
            _ => found = Some(one),
        }
        // The next value of the fields.
        field = (field | !free).wrapping_add(1) & free;
        if field == 0 {
            return Some(Row(one));
        }
    }
}

/// The row of a record.
const fn of_record(record: u64, lead: Lead, immediate: u32) -> u32 {
    if record == 0 {
        return OTHER;
    }
    let [read, _, overwritten, _] = FLAGS[(record >> record::FLAGS) as usize];
    let leads_there = matches!(lead, Lead::Branch | Lead::Jump);
    let lead = (lead as u32) << LEAD;
    let (read, overwritten) = (read & ALL, (overwritten & ALL) << OVERWRITTEN);
    if record & record::COUNT == 0 {
        return read | overwritten | lead | if immediate == 4 && leads_there { LONG } else { 0 };
    }
    let size = SIZES[(record >> record::SIZES & 31) as usize] >> 8 & 0xff;
    match (immediate, size) {
        // The count is in cl, so that nobody knows whether the flags are overwritten.
        (0, _) => read | lead,
        // A byte can be shifted by more than its bits.
        (_, 1) => OTHER,
        _ => read | overwritten | lead | COUNT,
    }
}
