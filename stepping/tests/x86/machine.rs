//! Registers and memory that a test fills by hand.

use insn::x86::{Flags, Reg};
use stepping::x86::Registers;
use stepping::{Fault, Memory};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) values: [u64; 128],
    pub(crate) shadow_stack: bool,
    pub(crate) apx: bool,
    pub(crate) address_bits: u32,
    pub(crate) tag_mask: u64,
    pub(crate) settable: Flags,
}

/// Memory in pieces: address, bytes, whether it can be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pieces(pub(crate) Vec<(u64, Vec<u8>, bool)>);

impl Machine {
    /// All zero but for rsp, the flags that are always set, and 32-bit selectors.
    pub(crate) fn new() -> Machine {
        let mut machine = Machine {
            values: [0; 128],
            shadow_stack: false,
            apx: false,
            address_bits: 48,
            tag_mask: u64::MAX,
            settable: Flags::from_bits(u32::MAX),
        };
        for selector in [Reg::ES, Reg::SS, Reg::DS, Reg::FS, Reg::GS] {
            machine.put(selector, 0x2b);
        }
        machine.put(Reg::CS, 0x23).put(Reg::FLAGS, 0x202).put(Reg::RSP, STACK + 0x80);
        machine
    }

    pub(crate) fn put(&mut self, reg: Reg, value: u64) -> &mut Machine {
        self.values[usize::from(reg.number())] = value;
        self
    }
}

/// Where [`memory`] has its stack.
pub(crate) const STACK: u64 = 0x1_0000;
/// Where [`memory`] has its data.
pub(crate) const DATA: u64 = 0x2_0000;
/// Where [`memory`] has its shadow stack.
pub(crate) const SHADOW: u64 = 0x3_0000;

/// A stack, data and a shadow stack of 256 bytes each.
pub(crate) fn memory() -> Pieces {
    let bytes = |first: u8| (0..=255).map(|n: u8| n.wrapping_add(first)).collect();
    Pieces(vec![(STACK, bytes(0), true), (DATA, bytes(0x55), true), (SHADOW, bytes(0xaa), true)])
}

impl Pieces {
    fn at(&mut self, address: u64, length: usize) -> Option<(&mut [u8], bool)> {
        self.0.iter_mut().find_map(|(base, bytes, writable)| {
            let offset = usize::try_from(address.checked_sub(*base)?).ok()?;
            Some((bytes.get_mut(offset..offset.checked_add(length)?)?, *writable))
        })
    }

    pub(crate) fn poke(&mut self, address: u64, bytes: &[u8]) {
        self.at(address, bytes.len()).unwrap().0.copy_from_slice(bytes);
    }

    pub(crate) fn word(&mut self, address: u64) -> u64 {
        u64::from_le_bytes((*self.at(address, 8).unwrap().0).try_into().unwrap())
    }
}

impl Registers for Machine {
    fn get(&self, reg: Reg) -> u64 {
        self.values[usize::from(reg.number())]
    }
    fn set(&mut self, reg: Reg, value: u64) {
        self.put(reg, value);
    }
    fn shadow_stack(&self) -> bool {
        self.shadow_stack
    }
    fn linear_address_bits(&self) -> u32 {
        self.address_bits
    }
    fn apx(&self) -> bool {
        self.apx
    }
    fn untagged(&self, address: u64) -> u64 {
        address & self.tag_mask
    }
    fn settable_flags(&self) -> Flags {
        self.settable
    }
}

impl Memory for Pieces {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        let (bytes, _) = self.at(address, buffer.len()).ok_or(Fault::Page(address))?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        match self.at(address, bytes.len()) {
            Some((target, true)) => {
                target.copy_from_slice(bytes);
                Ok(())
            }
            _ => Err(Fault::Page(address)),
        }
    }
}
