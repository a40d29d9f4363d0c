//! The values of a held thread's registers.

use ubp::{RegisterSet, Registers, Session, Tid, VectorRegisters};

use super::{Place, Register};

/// The registers of a held thread. The floating-point and vector registers are read when one is asked for.
pub(crate) struct Contents {
    tid: Tid,
    general: Registers,
    float: Option<Vec<u8>>,
    vector: Option<VectorRegisters>,
}

impl Contents {
    pub(crate) fn read(session: &mut Session, tid: Tid) -> ubp::Result<Contents> {
        Ok(Contents { tid, general: session.registers(tid)?, float: None, vector: None })
    }

    /// The value of a register, its lowest byte first; `None` if the thread does not have it.
    pub(crate) fn get(&mut self, session: &mut Session, register: &Register) -> Option<Vec<u8>> {
        let bytes = register.bytes;
        match register.place {
            Place::General(offset) => self.general.bytes().get(offset..offset + bytes).map(<[u8]>::to_vec),
            Place::Float(offset) => self.float(session)?.get(offset..offset + bytes).map(<[u8]>::to_vec),
            Place::Half(offset) => {
                let half = self.float(session)?.get(offset..offset + 2)?;
                Some([half, &[0, 0]].concat())
            }
            Place::X87Tags => Some(u32::from(tags(self.float(session)?)).to_le_bytes().to_vec()),
            Place::Vector(reg, offset) => {
                if self.vector.is_none() {
                    self.vector = session.vector_registers(self.tid).ok();
                }
                let value = self.vector.as_ref()?.get(reg)?;
                value.get(offset..offset + bytes).map(<[u8]>::to_vec)
            }
        }
    }

    /// Sets a register of the thread; `None` if the thread does not have it, or if the kernel refuses the value.
    pub(crate) fn set(&mut self, session: &mut Session, register: &Register, value: &[u8]) -> Option<()> {
        if value.len() != register.bytes {
            return None;
        }
        match register.place {
            Place::General(offset) => {
                let mut bytes = self.general.bytes().to_vec();
                bytes.get_mut(offset..offset + value.len())?.copy_from_slice(value);
                self.general = Registers::from_bytes(&bytes)?;
                session.set_registers(self.tid, &self.general).ok()
            }
            Place::Float(offset) => {
                let end = offset + value.len();
                self.set_float(session, |bytes| bytes.get_mut(offset..end).map(|place| place.copy_from_slice(value)))
            }
            Place::Half(offset) => {
                let low = value.get(..2)?;
                self.set_float(session, |bytes| {
                    bytes.get_mut(offset..offset + 2).map(|place| place.copy_from_slice(low))
                })
            }
            Place::X87Tags => self.set_float(session, |bytes| {
                *bytes.get_mut(4)? = abridged(value);
                Some(())
            }),
            Place::Vector(reg, offset) => {
                let mut all = session.vector_registers(self.tid).ok()?;
                let mut whole = all.get(reg)?;
                whole.get_mut(offset..offset + value.len())?.copy_from_slice(value);
                all.set(reg, &whole).then_some(())?;
                session.set_vector_registers(self.tid, &all).ok()?;
                self.vector = Some(all);
                Some(())
            }
        }
    }

    /// Changes the floating-point registers.
    fn set_float(&mut self, session: &mut Session, change: impl FnOnce(&mut [u8]) -> Option<()>) -> Option<()> {
        let mut bytes = self.float(session)?.to_vec();
        change(&mut bytes)?;
        session.set_register_set(self.tid, RegisterSet::FLOAT, &bytes).ok()?;
        self.float = Some(bytes);
        // Vector registers begin with these bytes.
        self.vector = None;
        Some(())
    }

    fn float(&mut self, session: &mut Session) -> Option<&[u8]> {
        if self.float.is_none() {
            self.float = session.register_set(self.tid, RegisterSet::FLOAT).ok();
        }
        self.float.as_deref()
    }
}

/// The tag word of x87 registers in `FXSAVE`'s layout: 0 valid, 1 zero, 2 special, 3 empty, for physical registers (SDM vol. 1, 8.1.7).
fn tags(image: &[u8]) -> u16 {
    let byte = |at: usize| image.get(at).copied().unwrap_or_default();
    let (top, used) = (byte(3) >> 3 & 7, byte(4));
    let tag = |physical: u8| {
        if used >> physical & 1 == 0 {
            return 3;
        }
        let start = 32 + 16 * usize::from(physical.wrapping_sub(top) & 7);
        let exponent = u16::from_le_bytes([byte(start + 8), byte(start + 9)]) & 0x7fff;
        let is_zero = (start..start + 8).all(|at| byte(at) == 0);
        match (exponent, is_zero, byte(start + 7) >> 7) {
            (0, true, _) => 1,
            (0x7fff, ..) | (_, _, 0) | (0, ..) => 2,
            _ => 0,
        }
    };
    (0..8).fold(0, |word, physical| word | tag(physical) << (2 * physical))
}

/// The byte of `FXSAVE` for a tag word: a bit for each register that is not empty.
fn abridged(word: &[u8]) -> u8 {
    let word = word.iter().take(2).rev().fold(0u16, |word, &byte| word << 8 | u16::from(byte));
    (0..8).fold(0, |byte, physical| byte | u8::from(word >> (2 * physical) & 3 != 3) << physical)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x87_tags_follow_from_the_registers_contents() {
        let mut image = vec![0; 512];
        // Two values were pushed: TOP is 6, the physical registers 6 and 7 are used.
        image[3] = 6 << 3;
        image[4] = 0xc0;
        // st(0), register 6: 1.0; st(1), register 7: 0.0.
        image[32 + 7] = 0x80;
        image[32 + 8..32 + 10].copy_from_slice(&0x3fffu16.to_le_bytes());
        assert_eq!(tags(&image), 0x4fff);
        assert_eq!(abridged(&0x4fffu32.to_le_bytes()), 0xc0);
    }
}
