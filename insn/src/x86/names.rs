//! Names of instructions: tables of their own (`generated/names.rs`), written by insn/gen/src/x86/names.rs.

use super::choice::{ADDRESS_SIZE, CHOICE, LONG_W, MOD, OPERAND_SIZE, PREFIX, REG, REX2_W, RM, SCC, W};
use super::generated::names::{CHOICES, LISTS, PAGES, ROWS, STARTS, TEXT};
use super::insn::shape;
use super::{Bits, Insn};

impl Insn {
    /// The instruction's name in the manuals (SDM; APM for what only AMD has), in lower case.
    ///
    /// It is without prefixes (`lock`, `rep`) and without the operand-size suffixes of AT&T's syntax. Where the manual has a name for each
    /// condition, operand size or address size, that name is told: `jne`, `cmovb`, `movsq`, `cdqe`, `jrcxz`. Of several names for one
    /// encoding it is the first that the manual has: `je`, not `jz`; `xchg` and `nop` are told apart. A comparison's predicate is an operand
    /// (`cmpps`, not `cmpeqps`). A far return is `retf`; far calls and jumps are `call` and `jmp`.
    ///
    /// Only programs that call this function link the names.
    ///
    /// ```
    /// use insn::x86::{Mode, decode};
    ///
    /// let name = |bytes: &[u8]| decode(bytes, Mode::INTEL_64).map(|insn| insn.mnemonic());
    /// assert_eq!(name(&[0x75, 0x02])?, "jne");
    /// assert_eq!(name(&[0xf3, 0x48, 0xa5])?, "movsq");
    /// assert_eq!(name(&[0xf0, 0x48, 0xff, 0x00])?, "inc");
    /// assert_eq!(name(&[0xc5, 0xf5, 0xfe, 0xc2])?, "vpaddd");
    /// # Ok::<(), insn::x86::Error>(())
    /// ```
    pub fn mnemonic(&self) -> &'static str {
        self.name().and_then(text).unwrap_or("")
    }
    /// The number of the name.
    fn name(&self) -> Option<u16> {
        let row = ROWS.get(usize::from(self.space))?[usize::from(self.opcode >> 4)];
        let list = PAGES.get(usize::from(row))?[usize::from(self.opcode & 15)];
        let item = *LISTS.get(usize::from(list) + self.rule_index()?)?;
        if item & CHOICE == 0 {
            return Some(item);
        }
        let at = usize::from(item & !CHOICE);
        let field = *CHOICES.get(at)?;
        CHOICES.get(at + 1 + usize::from(self.chosen(field))).copied()
    }
    /// The value of a field that chooses.
    fn chosen(&self, field: u16) -> u8 {
        let modrm = self.modrm().unwrap_or(0);
        let by_size = |size: u8| (size >> 2).min(2);
        match field {
            REG => modrm >> 3 & 7,
            RM => modrm & 15,
            MOD => u8::from(self.is_register_form()),
            OPERAND_SIZE => by_size(self.operand_size()),
            ADDRESS_SIZE => by_size(self.address_size()),
            W => u8::from(self.w()),
            LONG_W => u8::from(self.w() && self.mode.bits == Bits::B64),
            REX2_W => u8::from(self.w() && self.shape & shape::REX2 != 0),
            PREFIX => self.pp & 3,
            SCC => self.p2 & 15,
            _ => 0,
        }
    }
}

fn text(name: u16) -> Option<&'static str> {
    let name = usize::from(name);
    let (start, end) = (STARTS.get(name)?, STARTS.get(name + 1)?);
    TEXT.get(usize::from(*start)..usize::from(*end))
}
