//! Names of instructions: a table of its own (`generated/names.rs`), written by insn/gen/src/arm64/names.rs.

use super::Insn;
use super::choice::CHOICE;
use super::generated::names::{CHOICES, ITEMS, STARTS, TEXT};

impl Insn {
    /// The instruction's name in the Arm ARM, in lower case.
    ///
    /// It is the name of the instruction itself, not of an alias that assemblers prefer: `orr` and not `mov`, `subs` and not `cmp`, `ubfm`
    /// and not `lsl`, `sys` and not `dc`, `msr` and not `smstart`. A branch's condition is part of its name (`b.eq`), as are ordering and
    /// size (`ldaddalh`). A hint that has no meaning of its own is `hint`; others have their names (`nop`, `yield`).
    ///
    /// Only programs that call this function link the names.
    ///
    /// ```
    /// use insn::arm64::decode;
    ///
    /// assert_eq!(decode(0x5400_0041)?.mnemonic(), "b.ne");
    /// assert_eq!(decode(0xaa01_03e0)?.mnemonic(), "orr");
    /// assert_eq!(decode(0xb8e0_0041)?.mnemonic(), "ldaddal");
    /// # Ok::<(), insn::arm64::Error>(())
    /// ```
    pub fn mnemonic(&self) -> &'static str {
        self.name().and_then(text).unwrap_or("")
    }
    /// The number of the name.
    fn name(&self) -> Option<u16> {
        let (number, _) = self.form()?;
        let item = *ITEMS.get(usize::from(number))?;
        if item & CHOICE == 0 {
            return Some(item);
        }
        let (count, rest) = CHOICES.get(usize::from(item & !CHOICE)..)?.split_first()?;
        let bits = rest.get(..usize::from(*count))?;
        let value = bits.iter().fold(0, |value, bit| value << 1 | self.field(u32::from(*bit), 1) as usize);
        rest.get(bits.len()..)?.get(value).copied()
    }
}

fn text(name: u16) -> Option<&'static str> {
    let name = usize::from(name);
    let (start, end) = (STARTS.get(name)?, STARTS.get(name + 1)?);
    TEXT.get(usize::from(*start)..usize::from(*end))
}
