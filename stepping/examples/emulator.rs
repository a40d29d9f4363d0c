//! An emulator of x86-64 that has arithmetic of its own and takes control flow from `stepping`: it runs a function that adds up numbers.

use std::error::Error;
use std::io::{self, Write};

use insn::x86::{Flags, Insn, Mode, Reg, decode};
use stepping::x86::{Outcome, Plan, Registers, plan};
use stepping::{Fault, Memory};

/// Where the code lies; the stack lies behind it.
const BASE: u64 = 0x40_1000;
/// `call sum; hlt; sum: xor eax, eax; next: add eax, edi; dec edi; jnz next; ret`.
const CODE: &[u8] = &[0xe8, 1, 0, 0, 0, 0xf4, 0x31, 0xc0, 0x01, 0xf8, 0xff, 0xcf, 0x75, 0xfa, 0xc3];

struct Thread([u64; 128]);

impl Registers for Thread {
    fn get(&self, reg: Reg) -> u64 {
        self.0[usize::from(reg.number())]
    }
    fn set(&mut self, reg: Reg, value: u64) {
        self.0[usize::from(reg.number())] = value;
    }
}

/// A page from [`BASE`] on.
struct Page([u8; 4096]);

impl Page {
    fn part(&mut self, address: u64, length: usize) -> Result<&mut [u8], Fault> {
        let start = address.wrapping_sub(BASE) as usize;
        self.0.get_mut(start..start.wrapping_add(length)).ok_or(Fault::Page(address))
    }
}

impl Memory for Page {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        buffer.copy_from_slice(self.part(address, buffer.len())?);
        Ok(())
    }
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.part(address, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }
}

/// The emulator's own instructions: 32-bit arithmetic between registers. Of the flags it sets ZF alone.
fn compute(thread: &mut Thread, insn: &Insn) -> Result<(), Box<dyn Error>> {
    let modrm = insn.modrm().filter(|modrm| modrm >> 6 == 3).ok_or("an operand in memory")?;
    let (to, from) = (Reg::gpr(modrm & 7), Reg::gpr(modrm >> 3 & 7));
    let (first, second) = (thread.get(to) as u32, thread.get(from) as u32);
    let result = match (insn.opcode(), insn.opcode_extension()) {
        (0x01, _) => first.wrapping_add(second),
        (0x31, _) => first ^ second,
        (0xff, Some(1)) => first.wrapping_sub(1),
        _ => return Err(format!("{} is not emulated", insn.mnemonic()).into()),
    };
    thread.set(to, result.into());
    let zero = u64::from(Flags::ZF.bits());
    let flags = thread.get(Reg::FLAGS) & !zero;
    thread.set(Reg::FLAGS, flags | if result == 0 { zero } else { 0 });
    Ok(())
}

/// Runs the code until `hlt`, and writes the sum and how many instructions each part did.
pub(crate) fn run(count: u64, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let (mut thread, mut page) = (Thread([0; 128]), Page([0; 4096]));
    page.0[..CODE.len()].copy_from_slice(CODE);
    for (reg, value) in [(Reg::RIP, BASE), (Reg::RSP, BASE + 4096), (Reg::RDI, count)] {
        thread.set(reg, value);
    }
    let (mut ours, mut theirs) = (0, 0);
    loop {
        let pc = thread.get(Reg::RIP);
        let start = pc.checked_sub(BASE).ok_or("outside the page")? as usize;
        let insn = decode(page.0.get(start..).ok_or("outside the page")?, Mode::INTEL_64)?;
        match plan(&insn, pc) {
            Plan::Emulate(emulate) => match emulate.run(&mut thread, &mut page) {
                Ok(Outcome::Done) => theirs += 1,
                other => return Err(format!("{pc:#x}: {other:?}").into()),
            },
            _ if insn.opcode() == 0xf4 => break,
            _ => {
                compute(&mut thread, &insn)?;
                thread.set(Reg::RIP, pc + insn.len() as u64);
                ours += 1;
            }
        }
    }
    writeln!(out, "{} by {ours} instructions of the emulator and {theirs} of stepping", thread.get(Reg::RAX))?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(100, &mut io::stdout())
}
