//! The REX prefix.

use super::insn::ext;
use super::{Encoding, Insn};

impl Insn {
    /// The REX byte, 40 to 4F, where one counts: a byte of that value before another prefix is ignored. REX2, VEX and EVEX have the bits in
    /// other places, which [`Insn::w`], [`Insn::reg`] and [`Insn::rm`] read.
    ///
    /// ```
    /// use insn::x86::{Mode, decode};
    ///
    /// assert_eq!(decode(&[0x48, 0x01, 0xc8], Mode::INTEL_64)?.rex(), Some(0x48));
    /// assert_eq!(decode(&[0x48, 0x66, 0x01, 0xc8], Mode::INTEL_64)?.rex(), None);
    /// # Ok::<(), insn::x86::Error>(())
    /// ```
    pub fn rex(&self) -> Option<u8> {
        let has_rex = self.encoding() == Encoding::Legacy && self.ext & ext::REX != 0;
        has_rex.then_some(0x40 | self.ext & (ext::W | ext::R | ext::X | ext::B))
    }
}
