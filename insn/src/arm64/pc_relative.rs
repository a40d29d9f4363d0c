//! Instructions whose meaning depends on their address.

use super::codes::NONE;
use super::{Insn, Kind, Reg};
use crate::Target;

/// How an instruction uses its own address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PcRelative {
    /// A direct branch, with its distance in bytes.
    Branch(i64),
    /// `adr`: the address of the instruction plus a distance.
    Address {
        /// Destination; 31 is [`Reg::XZR`].
        register: Reg,
        /// Distance in bytes.
        distance: i64,
    },
    /// `adrp`: the address of the instruction's page (4 KiB) plus a distance.
    Page {
        /// Destination; 31 is [`Reg::XZR`].
        register: Reg,
        /// Distance in bytes, a multiple of 4096.
        distance: i64,
    },
    /// `ldr` and `ldrsw` of a literal.
    Load {
        /// Destination, a general register (31 is [`Reg::XZR`]) or a vector register.
        register: Reg,
        /// Distance in bytes.
        distance: i64,
        /// Number of bytes loaded: 4, 8 or 16.
        size: u8,
        /// Whether the value is sign-extended to 64 bits (`ldrsw`). Other values are zero-extended to the whole register.
        signed: bool,
    },
    /// The instruction signs or authenticates x30 with its own address, or with the address of an earlier instruction (PAuth_LR).
    Modifier {
        /// Distance in bytes, at most 0.
        distance: i64,
    },
    /// `prfm` of a literal.
    Prefetch {
        /// Distance in bytes.
        distance: i64,
    },
}

impl PcRelative {
    /// The address that the instruction uses at `pc`.
    pub fn address(self, pc: u64) -> u64 {
        match self {
            PcRelative::Branch(distance)
            | PcRelative::Address { distance, .. }
            | PcRelative::Load { distance, .. }
            | PcRelative::Modifier { distance }
            | PcRelative::Prefetch { distance } => pc.wrapping_add_signed(distance),
            PcRelative::Page { distance, .. } => (pc & !0xfff).wrapping_add_signed(distance),
        }
    }
}

impl Insn {
    /// How the instruction uses its own address. `None` if it does not, or only stores it as a return address.
    pub fn pc_relative(&self) -> Option<PcRelative> {
        if let Target::Relative(distance) = self.target() {
            return Some(PcRelative::Branch(distance));
        }
        let special = self.special();
        let d = self.field(0, 5);
        let immediate = self.signed_field(5, 19).wrapping_shl(2) | i64::from(self.field(29, 2));
        match special.kind {
            Kind::Adr => return Some(PcRelative::Address { register: Reg::general(d), distance: immediate }),
            Kind::Adrp => {
                return Some(PcRelative::Page { register: Reg::general(d), distance: immediate.wrapping_shl(12) });
            }
            Kind::SignAt | Kind::PacSpAt => return Some(PcRelative::Modifier { distance: 0 }),
            Kind::AuthenticateAt | Kind::ReturnAuthenticatedAt => {
                return Some(PcRelative::Modifier { distance: -i64::from(self.field(5, 16)).wrapping_shl(2) });
            }
            _ => {}
        }
        let size = special.literal;
        let distance = self.signed_field(5, 19).wrapping_shl(2);
        match size {
            NONE => return None,
            0 => return Some(PcRelative::Prefetch { distance }),
            _ => {}
        }
        let vector = self.field(26, 1) == 1;
        let register = if vector { Reg::vector(d) } else { Reg::general(d) };
        let signed = !vector && self.field(30, 2) == 2;
        Some(PcRelative::Load { register, distance, size, signed })
    }
}
