//! Register sets of held threads.

use libc::c_int;

use super::super::sys::insist;
use super::super::{Tracer, sys};
use crate::arch::VECTOR_SETS;
use crate::registers::Image;
use crate::{Error, RegisterSet, Registers, Result, Tid, VectorRegisters};

/// Bytes of the largest register set: SME's matrix of 256 by 256 bytes with its header.
const LARGEST: usize = (64 << 10) + 64;

impl Tracer {
    pub(in crate::ptrace) fn register_set_of(&self, tid: Tid, set: RegisterSet) -> Result<Vec<u8>> {
        self.require_held(tid)?;
        if set == RegisterSet::GENERAL {
            return Ok(self.registers_of(tid)?.bytes().to_vec());
        }
        let mut bytes = vec![0; LARGEST];
        let length = sys::register_set(tid, set.0 as c_int, &mut bytes).map_err(|error| named(error, tid, set))?;
        bytes.truncate(length);
        Ok(bytes)
    }

    pub(in crate::ptrace) fn set_register_set_of(&mut self, tid: Tid, set: RegisterSet, bytes: &[u8]) -> Result<()> {
        self.require_held(tid)?;
        if set == RegisterSet::GENERAL {
            let registers = Registers::from_bytes(bytes).ok_or_else(|| Error::System {
                call: "PTRACE_SETREGSET",
                id: tid.0,
                source: std::io::Error::from_raw_os_error(libc::EINVAL),
            })?;
            return self.set_registers_of(tid, &registers);
        }
        sys::set_register_set(tid, set.0 as c_int, bytes).map_err(|error| match error {
            Error::System { ref source, .. } if source.raw_os_error() == Some(libc::ENODEV) => named(error, tid, set),
            error => error,
        })
    }

    pub(in crate::ptrace) fn vector_registers_of(&self, tid: Tid) -> Result<VectorRegisters> {
        let arch = self.registers_of(tid)?.arch();
        let mut images = Vec::new();
        for &set in VECTOR_SETS {
            match self.register_set_of(tid, set) {
                Ok(bytes) => images.push(Image { set, bytes, changed: false }),
                Err(Error::NoRegisterSet { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(VectorRegisters { arch, images })
    }

    pub(in crate::ptrace) fn set_vector_registers_of(&mut self, tid: Tid, registers: &VectorRegisters) -> Result<()> {
        self.require_held(tid)?;
        let mut before: Vec<(RegisterSet, Vec<u8>)> = Vec::new();
        for image in registers.images.iter().filter(|image| image.changed) {
            let former = self.register_set_of(tid, image.set);
            let set = former.and_then(|former| {
                self.set_register_set_of(tid, image.set, &image.bytes)?;
                before.push((image.set, former));
                Ok(())
            });
            if let Err(error) = set {
                // A set that the kernel refuses leaves the other ones as they were too.
                for (set, former) in before.iter().rev() {
                    insist(|| self.set_register_set_of(tid, *set, former))?;
                }
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Names the register set that a thread does not have.
fn named(error: Error, tid: Tid, set: RegisterSet) -> Error {
    match error {
        Error::System { ref source, .. }
            if matches!(source.raw_os_error(), Some(libc::EINVAL | libc::ENODEV | libc::EIO)) =>
        {
            Error::NoRegisterSet { tid, set }
        }
        other => other,
    }
}
