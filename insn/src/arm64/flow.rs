//! Where control goes.

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

/// How a way's target is read: the word times `scale` has it at the top, where its sign is the product's; so many bits below it are
/// shifted out, and those of `mask` count. The mask of a distance is negative, that of no target 0.
#[derive(Clone, Copy)]
struct Field {
    scale: i64,
    below: u8,
    mask: i64,
}

const NONE: Field = Field { scale: 0, below: 0, mask: 0 };

/// A distance in words, of `width` bits from bit `low` on.
const fn distance(low: u8, width: u8) -> Field {
    Field { scale: 1 << (64 - low - width), below: 62 - width, mask: -4 }
}

/// The number of a register, of five bits from bit `low` on.
const fn register(low: i8) -> Field {
    Field { scale: 1 << (59 - low), below: 59, mask: 31 }
}

impl Way {
    /// That of a number's low four bits.
    #[inline(always)]
    pub(super) const fn of(number: u8) -> Way {
        // The compiler makes nothing of it but the number.
        match number & 15 {
            1 => Way::Next,
            2 => Way::Jump,
            3 => Way::Call,
            4 => Way::If19,
            5 => Way::If14,
            6 => Way::If9,
            7 => Way::JumpTo,
            8 => Way::CallTo,
            9 => Way::Return,
            10 => Way::Leave,
            11 => Way::LeaveFor,
            12 => Way::Syscall,
            13 => Way::Trap,
            14 => Way::Privileged,
            15 => Way::Faulting,
            _ => Way::Undefined,
        }
    }
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
    /// Where it is in a table of all, without a test of it: not everywhere does the compiler know that there are no more.
    #[inline(always)]
    fn index(self) -> usize {
        usize::from(self as u8 & 15)
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
    flows: [Flow; 16],
    below: [u8; 16],
    scales: [i64; 16],
    masks: [i64; 16],
}

impl Ways {
    pub(super) const ALL: Ways = {
        let mut ways = Ways { flows: [Flow::Next; 16], below: [0; 16], scales: [0; 16], masks: [0; 16] };
        let mut i = 0;
        while i < 16 {
            let Field { scale, below, mask } = Way::of(i as u8).field();
            (ways.scales[i], ways.below[i], ways.masks[i]) = (scale, below, mask);
            ways.flows[i] = Way::of(i as u8).flow();
            i += 1;
        }
        ways
    };
}

impl Insn {
    /// What it does to the flow of control.
    #[inline]
    pub fn flow(&self) -> Flow {
        HOT.ways.flows[self.way.index()]
    }
    /// Where a change of flow goes. `ret` and its like go to a register; a register of 31 is [`Reg::XZR`].
    #[inline(always)]
    pub fn target(&self) -> Target<Reg> {
        let (way, ways) = (self.way.index(), &HOT.ways);
        let mask = ways.masks[way];
        // Computed whatever it is: which instruction is a branch no processor foresees.
        let product = i64::from(self.word).wrapping_mul(ways.scales[way]);
        let value = product.wrapping_shr(ways.below[way].into()) & mask;
        if mask < 0 {
            Target::Relative(value)
        } else if mask == 0 {
            Target::None
        } else {
            Target::Register(Reg::general(value as u32))
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
