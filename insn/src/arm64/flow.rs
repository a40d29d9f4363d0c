//! Flow of control, and targets of branches.

use super::generated::hot::HOT;
use super::{Insn, Reg};
use crate::{Flow, Target};

impl Insn {
    /// What the instruction does to the flow of control.
    #[inline]
    pub fn flow(&self) -> Flow {
        HOT.ways.flows[self.way.index()]
    }
    /// The target of a change of flow. `ret` and similar go to a register; register 31 is [`Reg::XZR`].
    #[inline(always)]
    pub fn target(&self) -> Target<Reg> {
        let (way, ways) = (self.way.index(), &HOT.ways);
        let mask = ways.masks[way];
        // Computed without a branch: no processor predicts which instruction is a branch.
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
    /// The target address of a direct branch at `pc`; `None` for other instructions.
    pub fn target_address(&self, pc: u64) -> Option<u64> {
        match self.target() {
            Target::Relative(distance) => Some(pc.wrapping_add_signed(distance)),
            _ => None,
        }
    }
}
