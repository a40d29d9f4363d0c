//! An instruction while it is decoded: its bytes, its rules, its end.

use super::chunk::MAX_LEN;
use super::entry;
use super::insn::{BRANCHES, LONG, shape};
use super::validity::{self, Rule};
use super::{Bits, Error, ErrorKind, Insn};

/// An instruction while it is decoded.
pub(super) struct Decoder<'a> {
    pub(super) chunk: &'a [u8; MAX_LEN],
    pub(super) available: usize,
    pub(super) insn: Insn,
}

impl Decoder<'_> {
    /// The byte at `at`, which is part of the instruction.
    pub(super) fn byte(&self, at: u8) -> Result<u8, Error> {
        match self.chunk.get(usize::from(at)) {
            Some(byte) if usize::from(at) < self.available => Ok(*byte),
            _ => Err(Error::out_of_bytes(self.chunk, self.available)),
        }
    }

    #[inline(never)]
    pub(super) fn error(&self, kind: ErrorKind, offset: u8) -> Error {
        Error { kind, offset, byte: self.byte(offset).unwrap_or(0) }
    }

    pub(super) fn is_64(&self) -> bool {
        self.insn.mode.bits == Bits::B64
    }

    /// The rule that the instruction fits.
    #[inline(never)]
    pub(super) fn check(&self) -> Result<Rule, Error> {
        if let Some((_, rule)) = self.insn.rule() {
            return Ok(rule);
        }
        let kind = validity::reason(validity::list(self.insn.space, self.insn.opcode), self.insn.key());
        let at = self.insn.opcode_at;
        let lock = self.chunk.iter().position(|b| *b == 0xf0).unwrap_or(0);
        Err(match kind {
            ErrorKind::Lock => self.error(kind, lock as u8),
            ErrorKind::Operand => self.error(kind, at + 1),
            _ => self.error(kind, at),
        })
    }

    /// Offset after the modrm byte at `at`, its SIB byte and displacement.
    pub(super) fn after_modrm(&self, at: u8) -> Result<u8, Error> {
        let modrm = self.byte(at)?;
        if self.insn.shape & shape::ANY_MOD != 0 {
            return Ok(at + 1);
        }
        if self.insn.address_size() == 2 {
            return Ok(at
                + 1
                + match (modrm >> 6, modrm & 7) {
                    (0, 6) | (2, _) => 2,
                    (1, _) => 1,
                    _ => 0,
                });
        }
        let after = entry::modrm(modrm);
        let mut end = at + (after & 15);
        if after & 0x20 != 0 && self.byte(at + 1)? & 7 == 5 {
            end += 4;
        }
        Ok(end)
    }

    /// Sets the length. Immediates begin at `end`.
    pub(super) fn finish(&mut self, end: u8) -> Result<(), Error> {
        let len = end + self.insn.tail;
        if usize::from(len) > self.available {
            return Err(Error::out_of_bytes(self.chunk, self.available));
        }
        self.insn.len = len;
        if (len > 8 || self.insn.tail == 2) && BRANCHES.contains(&self.insn.flow) {
            self.insn.flow |= LONG;
        }
        Ok(())
    }
}
