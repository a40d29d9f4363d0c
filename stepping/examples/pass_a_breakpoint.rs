//! Lets a thread of x86-64 pass breakpoints on a few instructions: emulated, or by a copy in a slot.
//!
//! A debugger would read and write a real thread; here registers and memory are arrays.

use std::error::Error;
use std::io::{self, Write};

use insn::x86::{Mode, Reg, decode};
use stepping::x86::{Outcome, Plan, Registers, plan};
use stepping::{Fault, Memory};

/// The registers of the thread, by their numbers.
struct Thread([u64; 128]);

impl Registers for Thread {
    fn get(&self, reg: Reg) -> u64 {
        self.0[usize::from(reg.number())]
    }
    fn set(&mut self, reg: Reg, value: u64) {
        self.0[usize::from(reg.number())] = value;
    }
}

/// The stack: 64 bytes from 0x7000 on.
struct Stack([u8; 64]);

impl Stack {
    fn part(&mut self, address: u64, length: usize) -> Result<&mut [u8], Fault> {
        let start = address.wrapping_sub(0x7000) as usize;
        self.0.get_mut(start..start.wrapping_add(length)).ok_or(Fault::Page(address))
    }
}

impl Memory for Stack {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        buffer.copy_from_slice(self.part(address, buffer.len())?);
        Ok(())
    }
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.part(address, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }
}

pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut thread = Thread([0; 128]);
    let mut stack = Stack([0; 64]);
    thread.set(Reg::RSP, 0x7040);
    let code: [(&str, u64, &[u8]); 3] = [
        ("call .+0x100", 0x401000, &[0xe8, 0xfb, 0, 0, 0]),
        ("ret", 0x401100, &[0xc3]),
        ("mov 0x2000(%rip), %rax", 0x401005, &[0x48, 0x8b, 0x05, 0, 0x20, 0, 0]),
    ];
    for (text, pc, bytes) in code {
        thread.set(Reg::RIP, pc);
        match plan(&decode(bytes, Mode::INTEL_64)?, pc) {
            Plan::Emulate(emulate) => match emulate.run(&mut thread, &mut stack) {
                Ok(Outcome::Done) => writeln!(out, "{text}: emulated, rip is {:#x}", thread.get(Reg::RIP))?,
                other => writeln!(out, "{text}: {other:?}")?,
            },
            Plan::Slot(slot) => {
                // The tracer maps the slot near the code, writes the bytes and sets the thread's pc to it.
                let at = 0x500000;
                let code = slot.assemble(at)?;
                let used = &code.bytes[..usize::from(code.len)];
                writeln!(out, "{text}: runs at {at:#x} as {used:02x?}, leaves by {:?}", code.exit)?;
                // A signal handler or debugger must see the original address.
                let place = code.original(bytes.len() as u8).ok_or("the end of the copy has a meaning")?;
                writeln!(
                    out,
                    "  {:#x} means {:#x}, {:?} the instruction",
                    at + bytes.len() as u64,
                    place.pc,
                    place.progress
                )?;
            }
            Plan::Refuse(reason) => writeln!(out, "{text}: no breakpoint, {reason}")?,
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut io::stdout())
}
