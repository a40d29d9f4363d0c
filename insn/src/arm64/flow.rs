//! Where control goes.

use core::hint::select_unpredictable;

use super::generated::hot::HOT;
use super::{Insn, Reg};
use crate::{Flow, Target};

/// What becomes of control, and where in the word its target is told; numbered as in insn/gen/src/arm64/hot.rs.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(super) enum Way {
    /// Of what is no instruction.
    Undefined,
    Next,
    /// By 26 bits from bit 0 on.
    Jump,
    Call,
    /// By so many bits from bit 5 on.
    If19,
    If14,
    If9,
    /// To the register in bits 9 to 5.
    JumpTo,
    CallTo,
    Return,
    /// To x30, which no field names: `retaa` and its like have its number in bits 19 to 15.
    Leave,
    /// The same: `retaasppc` has it in bits 3 to 0, with a 0 behind them.
    LeaveFor,
    Syscall,
    Trap,
    Privileged,
    Faulting,
}

/// By number.
pub(super) static WAYS: [Way; 16] = [
    Way::Undefined,
    Way::Next,
    Way::Jump,
    Way::Call,
    Way::If19,
    Way::If14,
    Way::If9,
    Way::JumpTo,
    Way::CallTo,
    Way::Return,
    Way::Leave,
    Way::LeaveFor,
    Way::Syscall,
    Way::Trap,
    Way::Privileged,
    Way::Faulting,
];

/// How a way's target is read: the word times `scale`, of which the upper half counts, has it in the bits of `mask`, where `sign` is the
/// sign. No shift is as quick by a number that is looked up.
#[derive(Clone, Copy)]
struct Field {
    scale: u64,
    mask: u32,
    sign: u32,
}

const NONE: Field = Field { scale: 0, mask: 0, sign: 0 };

/// A distance in words, of `width` bits from bit `low` on.
const fn distance(low: u32, width: u32) -> Field {
    Field { scale: 1 << (34 - low), mask: (1 << (width + 2)) - 4, sign: 1 << (width + 1) }
}

/// The number of a register, of five bits from bit `low` on.
const fn register(low: i32) -> Field {
    Field { scale: 1 << (32 - low), mask: 31, sign: 0 }
}

impl Way {
    pub(super) const fn flow(self) -> Flow {
        match self {
            Way::Undefined | Way::Faulting => Flow::Faulting,
            Way::Next => Flow::Next,
            Way::Jump | Way::JumpTo => Flow::Jump,
            Way::Call | Way::CallTo => Flow::Call,
            Way::If19 | Way::If14 | Way::If9 => Flow::ConditionalJump,
            Way::Return | Way::Leave | Way::LeaveFor => Flow::Return,
            Way::Syscall => Flow::Syscall,
            Way::Trap => Flow::Trap,
            Way::Privileged => Flow::Privileged,
        }
    }
    const fn field(self) -> Field {
        match self {
            Way::Jump | Way::Call => distance(0, 26),
            Way::If19 => distance(5, 19),
            Way::If14 => distance(5, 14),
            Way::If9 => distance(5, 9),
            Way::JumpTo | Way::CallTo | Way::Return => register(5),
            Way::Leave => register(15),
            Way::LeaveFor => register(-1),
            Way::Undefined | Way::Next | Way::Syscall | Way::Trap | Way::Privileged | Way::Faulting => NONE,
        }
    }
}

/// By way: one table for each thing, so that a way is the index of all.
pub(super) struct Ways {
    scales: [u64; 16],
    masks: [u32; 16],
    signs: [u32; 16],
}

impl Ways {
    pub(super) const ALL: Ways = {
        let mut ways = Ways { scales: [0; 16], masks: [0; 16], signs: [0; 16] };
        let mut i = 0;
        while i < 16 {
            let Field { scale, mask, sign } = WAYS[i].field();
            (ways.scales[i], ways.masks[i], ways.signs[i]) = (scale, mask, sign);
            i += 1;
        }
        ways
    };
}

impl Insn {
    /// What it does to the flow of control.
    #[inline]
    pub fn flow(&self) -> Flow {
        self.flow
    }
    /// Where a change of flow goes. `ret` and its like go to a register; a register of 31 is [`Reg::XZR`].
    #[inline(always)]
    pub fn target(&self) -> Target<Reg> {
        let (way, ways) = (self.way as usize, &HOT.ways);
        let (mask, sign) = (ways.masks[way], ways.signs[way]);
        // Computed whatever it is: which instruction is a branch no processor foresees.
        let field = (u64::from(self.word).wrapping_mul(ways.scales[way]) >> 32) as u32 & mask;
        let value = i64::from((field ^ sign).wrapping_sub(sign) as i32);
        let register = select_unpredictable(value == 31, Reg::XZR, Reg::of(value as u8));
        if sign != 0 {
            Target::Relative(value)
        } else if mask == 0 {
            Target::None
        } else {
            Target::Register(register)
        }
    }
    /// The target address of a direct branch at `pc`.
    pub fn target_address(&self, pc: u64) -> Option<u64> {
        match self.target() {
            Target::Relative(distance) => Some(pc.wrapping_add_signed(distance)),
            _ => None,
        }
    }
}
