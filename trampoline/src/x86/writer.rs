//! The code of a trampoline while it is written.

use insn::x86::Reg;

use super::Refusal;
use super::place::Place;
use super::saved::{FlagsAt, Saved};
use crate::Progress;

/// Filling between and behind code.
const INT3: u8 = 0xcc;
/// The most constants.
const CONSTANTS: usize = 48;

/// An address in the trampoline that jumps and fixups name before it is known.
#[derive(Clone, Copy)]
pub(super) struct Label {
    /// The offset that the label stands for.
    at: Option<u16>,
    /// Offset of the distance of the last jump to it. The distance holds the offset of the one before, plus one, or zero.
    jump: Option<u16>,
    /// Index of the last place whose fixup it is. The fixup holds the index of the place before.
    fixup: Option<u16>,
}

impl Label {
    pub(super) const NEW: Label = Label { at: None, jump: None, fixup: None };

    /// The offset in the trampoline, once bound.
    pub(super) fn offset(&self) -> Option<u16> {
        self.at
    }
}

/// The state of a thread at the next instruction.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) pc: u64,
    pub(super) progress: Progress,
    /// Whether the instruction belongs to a probe.
    pub(super) own: bool,
    pub(super) stack: u16,
    pub(super) saved: Saved,
    pub(super) flags: FlagsAt,
    pub(super) register: Option<(Reg, u64)>,
}

impl State {
    /// The state at a pc of the program, with all registers in their places.
    pub(super) fn at(pc: u64, progress: Progress) -> State {
        State { pc, progress, own: false, stack: 0, saved: Saved::NONE, flags: FlagsAt::Flags, register: None }
    }
}

pub(super) struct Writer<'a> {
    /// Address of the trampoline.
    at: u64,
    code: &'a mut [u8],
    len: u16,
    places: &'a mut [Place],
    marked: u16,
    /// Values of constants and the offsets of the displacements that name them.
    constants: [Option<(u64, u16)>; CONSTANTS],
    error: Option<Refusal>,
    /// The fixup of the next place.
    fixup: Option<u16>,
    pub(super) state: State,
}

impl<'a> Writer<'a> {
    pub(super) fn new(at: u64, code: &'a mut [u8], places: &'a mut [Place], pc: u64) -> Writer<'a> {
        Writer {
            at,
            code,
            len: 0,
            places,
            marked: 0,
            constants: [None; CONSTANTS],
            error: None,
            fixup: None,
            state: State::at(pc, Progress::Before),
        }
    }

    /// Notes that the trampoline cannot be written. The first reason counts.
    pub(super) fn refuse(&mut self, reason: Refusal) {
        self.error = self.error.or(Some(reason));
    }

    /// The offset of the next byte.
    pub(super) fn len(&self) -> u16 {
        self.len
    }

    /// The address of the next byte.
    pub(super) fn here(&self) -> u64 {
        self.at.wrapping_add(self.len.into())
    }

    /// Appends bytes without a place.
    #[inline(never)]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let start = usize::from(self.len);
        let room = self.code.get_mut(start..).and_then(|rest| rest.get_mut(..bytes.len()));
        match (room, u16::try_from(bytes.len()).ok().and_then(|len| self.len.checked_add(len))) {
            (Some(room), Some(len)) => {
                for (to, from) in room.iter_mut().zip(bytes) {
                    *to = *from;
                }
                self.len = len;
            }
            _ => self.refuse(Refusal::NoRoom),
        }
    }

    /// Gives the address of the next byte the present state as its meaning.
    #[inline(never)]
    pub(super) fn mark(&mut self) {
        let State { pc, progress, own, stack, saved, flags, register } = self.state;
        let fixup = self.fixup.take();
        let place = Place { offset: self.len, pc, progress, own, fixup, register, stack, saved, flags };
        match self.places.get_mut(usize::from(self.marked)) {
            Some(free) => {
                *free = place;
                self.marked = self.marked.wrapping_add(1);
            }
            None => self.refuse(Refusal::NoRoom),
        }
    }

    /// Appends one instruction.
    #[inline(never)]
    pub(super) fn emit(&mut self, bytes: &[u8]) {
        self.mark();
        self.push(bytes);
    }

    /// Appends an instruction of the size 64 bits with a register and a memory operand at rsp. `opcode` has no prefix.
    pub(super) fn emit_stack(&mut self, opcode: &[u8], register: Reg, offset: i32) {
        self.mark();
        self.push(&[0x48 | register.number() >> 3 << 2]);
        self.push(opcode);
        self.push(&[0x84 | (register.number() & 7) << 3, 0x24]);
        self.push(&offset.to_le_bytes());
    }

    /// Appends an instruction whose last operand in its bytes is memory at an absolute address, `immediate` behind it. `opcode` has all
    /// prefixes, and `field` is the register or opcode extension of modrm.
    #[inline(never)]
    pub(super) fn emit_at(&mut self, opcode: &[u8], field: u8, address: u64, immediate: &[u8]) {
        self.mark();
        self.push(opcode);
        self.push(&[0x05 | (field & 7) << 3]);
        let end = self.here().wrapping_add(4).wrapping_add(immediate.len() as u64);
        let distance = self.distance(end, address);
        self.push(&distance.to_le_bytes());
        self.push(immediate);
    }

    /// Appends an instruction whose memory operand is a constant of eight aligned bytes.
    #[inline(never)]
    pub(super) fn emit_constant(&mut self, opcode: &[u8], field: u8, value: u64) {
        self.mark();
        self.push(opcode);
        self.push(&[0x05 | (field & 7) << 3]);
        match self.constants.iter_mut().find(|constant| constant.is_none()) {
            Some(free) => *free = Some((value, self.len)),
            None => self.refuse(Refusal::TooMuch),
        }
        self.push(&[0; 4]);
    }

    /// The distance from `end` to `address`; refuses if it does not fit 32 bits.
    #[inline(never)]
    pub(super) fn distance(&mut self, end: u64, address: u64) -> i32 {
        i32::try_from(address.wrapping_sub(end) as i64).unwrap_or_else(|_| {
            self.refuse(Refusal::OutOfReach(address));
            0
        })
    }

    /// Appends a jump, whose opcode is given, to a label.
    pub(super) fn jump(&mut self, opcode: &[u8], label: &mut Label) {
        self.mark();
        self.push(opcode);
        self.push_label(label);
    }

    /// Appends the distance of a label.
    #[inline(never)]
    pub(super) fn push_label(&mut self, label: &mut Label) {
        let field = self.len;
        let before = label.jump.map_or(0, |before| u32::from(before).wrapping_add(1));
        self.push(&before.to_le_bytes());
        match label.at {
            Some(at) => self.aim(field, at),
            None => label.jump = Some(field),
        }
    }

    /// Appends a jump, whose opcode is given, to an address of the program.
    #[inline(never)]
    pub(super) fn jump_out(&mut self, opcode: &[u8], to: u64) {
        self.mark();
        self.push(opcode);
        let end = self.here().wrapping_add(4);
        let distance = self.distance(end, to);
        self.push(&distance.to_le_bytes());
    }

    /// Makes the label the fixup of the next instruction.
    pub(super) fn fixup(&mut self, label: &mut Label) {
        self.fixup = label.fixup.replace(self.marked);
    }

    /// Gives the label the address of the next byte.
    #[inline(never)]
    pub(super) fn bind(&mut self, label: &mut Label) {
        label.at = Some(self.len);
        let mut jump = label.jump.take();
        while let Some(field) = jump {
            let before = self.code.get(usize::from(field)..).and_then(|rest| rest.first_chunk());
            let before = before.and_then(|raw| u32::from_le_bytes(*raw).checked_sub(1)?.try_into().ok());
            self.aim(field, self.len);
            // Distances follow each other.
            jump = before.filter(|before| *before < field);
        }
        let mut fixup = label.fixup.take();
        while let Some(index) = fixup {
            let place = self.places.get_mut(usize::from(index));
            let before = place.and_then(|place| place.fixup.replace(self.len));
            fixup = before.filter(|before| *before < index);
        }
    }

    /// Makes the distance at `field` lead to `to`.
    fn aim(&mut self, field: u16, to: u16) {
        let distance = i32::from(to) - i32::from(field) - 4;
        self.put(field, distance);
    }

    #[inline(never)]
    fn put(&mut self, field: u16, value: i32) {
        for (to, from) in self.code.iter_mut().skip(field.into()).zip(value.to_le_bytes()) {
            *to = from;
        }
    }

    /// Appends the constants and fills the rest. Returns the sizes of code with constants, and of the table.
    pub(super) fn finish(mut self) -> Result<(u16, u16), Refusal> {
        if self.constants.iter().any(Option::is_some) {
            while self.here() & 7 != 0 && self.error.is_none() {
                self.push(&[INT3]);
            }
        }
        for (value, field) in self.constants.into_iter().flatten() {
            self.aim(field, self.len);
            self.push(&value.to_le_bytes());
        }
        for byte in self.code.iter_mut().skip(self.len.into()) {
            *byte = INT3;
        }
        match self.error {
            Some(reason) => Err(reason),
            None => Ok((self.len, self.marked)),
        }
    }
}
