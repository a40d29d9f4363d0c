//! Displacements of jumps whose bytes all trap.

use core::ops::Range;

use super::bytes::{JUMP_LEN, TRAPPING, trap};

/// The displacement of a jump, of which each of the four bytes always traps as the first byte of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Displacement(i32);

impl Displacement {
    /// The displacement; `None` if one of its bytes does not always trap.
    pub fn new(distance: i32) -> Option<Displacement> {
        distance.to_le_bytes().iter().all(|byte| trap(*byte).is_some()).then_some(Displacement(distance))
    }

    /// The distance in bytes from the end of the jump to its target.
    pub const fn distance(self) -> i32 {
        self.0
    }

    /// The target of a jump at `site`: its place in the mirror. Sites that are at least five bytes apart have places that are at least
    /// five bytes apart.
    ///
    /// ```
    /// use trampoline::x86::Displacement;
    ///
    /// let displacement = Displacement::new(0x0606_0606).expect("06 always traps");
    /// assert_eq!(displacement.mirror(0x40_0000), 0x0646_060b);
    /// ```
    pub const fn mirror(self, site: u64) -> u64 {
        site.wrapping_add(JUMP_LEN as u64).wrapping_add_signed(self.0 as i64)
    }

    /// The addresses that the mirror of the code at `code` takes: the places of all its sites, with the jumps there. `None` if they do not
    /// lie between 0 and 2⁶⁴.
    pub fn mirror_of(self, code: &Range<u64>) -> Option<Range<u64>> {
        let lift = i64::from(self.0).checked_add(JUMP_LEN as i64)?;
        let start = code.start.checked_add_signed(lift)?;
        let end = code.end.checked_add_signed(lift)?.checked_add(JUMP_LEN as u64)?;
        Some(start..end)
    }

    /// All displacements: first the 21 whose four bytes are equal, then all others, 194,460 of them.
    ///
    /// A caller takes the first whose mirror lies where nothing lies, and clear of where the heap or a stack grows.
    ///
    /// ```
    /// use trampoline::x86::Displacement;
    ///
    /// let code = 0x40_0000..0x50_0000;
    /// let fits = |displacement: &Displacement| displacement.mirror_of(&code).is_some_and(|mirror| mirror.start > 0x1000_0000);
    /// let displacement = Displacement::candidates().find(fits).expect("one of them fits");
    /// assert_eq!(displacement.distance(), 0x1616_1616);
    /// ```
    pub fn candidates() -> impl Iterator<Item = Displacement> {
        let equal = TRAPPING.iter().map(|(byte, _)| Displacement(i32::from_le_bytes([*byte; 4])));
        let bytes = || TRAPPING.iter().map(|(byte, _)| *byte);
        let all = bytes().flat_map(move |a| {
            bytes().flat_map(move |b| bytes().flat_map(move |c| bytes().map(move |d| [d, c, b, a])))
        });
        let differ = |bytes: &[u8; 4]| bytes.iter().any(|byte| *byte != bytes[0]);
        equal.chain(all.filter(differ).map(|bytes| Displacement(i32::from_le_bytes(bytes))))
    }
}
