//! Registers and memory that a test fills by hand.

use insn::arm64::Reg;
use stepping::arm64::Registers;
use stepping::{Fault, Memory};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    values: [u64; 128],
    pub(crate) branch_type: u8,
    pub(crate) guarded: bool,
    pub(crate) control_stack: bool,
}

/// Where [`memory`] begins.
pub(crate) const DATA: u64 = 0x2_0000;

/// 256 bytes of data, which can be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece(pub(crate) Vec<u8>);

pub(crate) fn memory() -> Piece {
    Piece((0..=255).map(|n: u8| n.wrapping_add(0x80)).collect())
}

impl Machine {
    /// Each general register holds its number, a thousandfold.
    pub(crate) fn new() -> Machine {
        let mut machine = Machine { values: [0; 128], branch_type: 0, guarded: false, control_stack: false };
        for number in 0..31 {
            machine.put(Reg::general(number), u64::from(number) * 1000);
        }
        machine.put(Reg::SP, 0x7000);
        machine
    }

    pub(crate) fn put(&mut self, reg: Reg, value: u64) -> &mut Machine {
        assert_ne!(reg, Reg::XZR, "xzr is nobody's");
        self.values[usize::from(reg.number())] = value;
        self
    }
}

impl Piece {
    fn at(&mut self, address: u64, length: usize) -> Result<&mut [u8], Fault> {
        let offset = address.wrapping_sub(DATA) as usize;
        let end = self.0.len().max(offset) as u64;
        let range = offset..offset.wrapping_add(length);
        self.0.get_mut(range).ok_or(Fault::Page(if address < DATA { address } else { DATA + end }))
    }

    pub(crate) fn word(&mut self, address: u64) -> u64 {
        u64::from_le_bytes((*self.at(address, 8).unwrap()).try_into().unwrap())
    }
}

impl Registers for Machine {
    fn get(&self, reg: Reg) -> u64 {
        assert_ne!(reg, Reg::XZR, "xzr is nobody's");
        self.values[usize::from(reg.number())]
    }
    fn set(&mut self, reg: Reg, value: u64) {
        self.put(reg, value);
    }
    fn branch_type(&self) -> u8 {
        self.branch_type
    }
    fn set_branch_type(&mut self, branch_type: u8) {
        self.branch_type = branch_type;
    }
    fn guarded(&self) -> bool {
        self.guarded
    }
    fn control_stack(&self) -> bool {
        self.control_stack
    }
}

impl Memory for Piece {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        buffer.copy_from_slice(self.at(address, buffer.len())?);
        Ok(())
    }
    fn write(&mut self, address: u64, _: &[u8]) -> Result<(), Fault> {
        Err(Fault::Page(address))
    }
    fn write_shadow_stack(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.at(address, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }
}
