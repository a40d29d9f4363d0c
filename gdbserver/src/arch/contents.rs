//! The values of a held thread's registers.

use ubp::{RegisterSet, Registers, Session, Tid, VectorRegisters};

#[cfg(target_arch = "x86_64")]
use super::x87::{abridged, tags};
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
            #[cfg(target_arch = "x86_64")]
            Place::Half(offset) => {
                let half = self.float(session)?.get(offset..offset + 2)?;
                Some([half, &[0, 0]].concat())
            }
            #[cfg(target_arch = "x86_64")]
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
            #[cfg(target_arch = "x86_64")]
            Place::Half(offset) => {
                let low = value.get(..2)?;
                self.set_float(session, |bytes| {
                    bytes.get_mut(offset..offset + 2).map(|place| place.copy_from_slice(low))
                })
            }
            #[cfg(target_arch = "x86_64")]
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
