//! Carries out accesses of a device's registers, as a virtual machine does where its guest's page tables have no memory: the bytes at the fault
//! and the guest's registers are all that it needs.

use std::error::Error;
use std::io::{self, Write};

use insn::x86::{Mode, Reg, decode};
use stepping::x86::{Mmio, Registers};
use stepping::{Fault, Memory};

/// Where the device's registers are.
const BASE: u64 = 0xfe00_0000;
/// `mov dword [rbx], 5; or word [rbx+4], ax; movzx ecx, byte [rbx+4]; xchg [rbx], edx`.
const DRIVER: &[u8] = &[0xc7, 0x03, 5, 0, 0, 0, 0x66, 0x09, 0x43, 0x04, 0x0f, 0xb6, 0x4b, 0x04, 0x87, 0x13];

struct Guest([u64; 128]);

impl Registers for Guest {
    fn get(&self, reg: Reg) -> u64 {
        self.0[usize::from(reg.number())]
    }
    fn set(&mut self, reg: Reg, value: u64) {
        self.0[usize::from(reg.number())] = value;
    }
}

/// A device with two registers of 32 bits. It writes a line for each access.
struct Device<'a, W> {
    registers: [u8; 8],
    out: &'a mut W,
}

impl<W: Write> Device<'_, W> {
    fn note(&mut self, what: &str, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        writeln!(self.out, "  {what} {address:#x}: {bytes:02x?}").map_err(|_| Fault::Page(address))
    }

    fn part(&mut self, address: u64, length: usize) -> Result<&mut [u8], Fault> {
        let start = address.wrapping_sub(BASE) as usize;
        self.registers.get_mut(start..start.wrapping_add(length)).ok_or(Fault::Page(address))
    }
}

impl<W: Write> Memory for Device<'_, W> {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        buffer.copy_from_slice(self.part(address, buffer.len())?);
        self.note("read", address, buffer)
    }
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.part(address, bytes.len())?.copy_from_slice(bytes);
        self.note("write", address, bytes)
    }
}

pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut guest = Guest([0; 128]);
    for (reg, value) in [(Reg::RAX, 0x8142), (Reg::RBX, BASE), (Reg::RDX, 9)] {
        guest.set(reg, value);
    }
    let mut device = Device { registers: [0; 8], out };
    while let Some(code) = DRIVER.get(guest.get(Reg::RIP) as usize..).filter(|code| !code.is_empty()) {
        let insn = decode(code, Mode::INTEL_64)?;
        let access = Mmio::of(&insn, guest.get(Reg::RIP)).ok_or("no access of memory by a general register")?;
        let address = access.address(&guest).map_err(|fault| format!("{fault:?}"))?;
        writeln!(device.out, "{}: {:?} {} bytes at {address:#x}", insn.mnemonic(), access.access, access.size)?;
        access.run(&mut guest, &mut device).map_err(|fault| format!("{fault:?}"))?;
    }
    writeln!(device.out, "rcx {:#x}, rdx {:#x}", guest.get(Reg::RCX), guest.get(Reg::RDX))?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut io::stdout())
}
