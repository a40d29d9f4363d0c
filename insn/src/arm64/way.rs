//! Ways: what becomes of control, and how the word tells its target.

use super::codes::each_way;
use crate::Flow;

macro_rules! ways {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal, $flow:ident;)*) => {
        /// What becomes of control, and where in the word its target is told.
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub(super) enum Way {
            $($(#[$doc])* $name = $number,)*
        }

        impl Way {
            /// The way of a number's low four bits.
            #[inline(always)]
            pub(super) const fn of(number: u8) -> Way {
                // Compiles to nothing: the number is the variant.
                match number & 15 {
                    $($number => Way::$name,)*
                    _ => Way::Undefined,
                }
            }
            pub(super) const fn flow(self) -> Flow {
                match self {
                    $(Way::$name => Flow::$flow,)*
                }
            }
        }
    };
}
each_way!(ways);

/// How to read the target of a way: multiply the word by `scale`, so that the target is at the top of the product, shift out the `below` bits
/// under it, and apply `mask`. The mask of a distance is negative; without a target it is 0.
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
    /// The index of the way in a table. The mask saves a bounds check where the compiler does not know that there are only 16 ways.
    #[inline(always)]
    pub(super) fn index(self) -> usize {
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

/// The properties of all ways, in one table for each property.
pub(super) struct Ways {
    pub(super) flows: [Flow; 16],
    pub(super) below: [u8; 16],
    pub(super) scales: [i64; 16],
    pub(super) masks: [i64; 16],
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
