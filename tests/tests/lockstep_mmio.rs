//! Accesses of memory by what `Mmio` says of the instruction, and by the processor.
//!
//! `LOCKSTEP_CASES` says how many instructions an opcode and mode has, `LOCKSTEP_SEED` where to start.
#![cfg(target_arch = "x86_64")]

use std::collections::BTreeMap;

use crossing::lockstep::{Lab, State};
use crossing::{Random, skip};
use insn::x86::{Bits, Insn, Map, Reg, decode};
use stepping::x86::{Mmio, Outcome, Registers};
use stepping::{Fault, Memory};

/// The opcodes with accesses, by map: of 64-bit mode, and what 32-bit mode has besides and lacks.
const ONE_BYTE: &str = "00 01 02 03 08 09 0a 0b 20 21 22 23 28 29 2a 2b 30 31 32 33 38 39 3a 3b 63 80 81 83 84 85 86 87 88 89 8a 8b a0 a1 a2 \
                        a3 c6 c7 f6/0 f6/1 f6/2 f6/3 f7/0 f7/1 f7/2 f7/3 fe/0 fe/1 ff/0 ff/1";
const M0F: &str = "b6 b7 be bf c3";
const M0F38: &str = "f0 f1";

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |value| value.parse().expect("a number"))
}

/// The registers of a state.
struct Thread(State);

impl Registers for Thread {
    fn get(&self, reg: Reg) -> u64 {
        let regs = &self.0.regs;
        match reg {
            Reg::RIP => regs.rip,
            Reg::FLAGS => regs.eflags,
            Reg::FS_BASE => regs.fs_base,
            Reg::GS_BASE => regs.gs_base,
            Reg::CS => regs.cs,
            Reg::DS => regs.ds,
            Reg::ES => regs.es,
            Reg::SS => regs.ss,
            Reg::FS => regs.fs,
            Reg::GS => regs.gs,
            _ => self.0.gpr(reg.as_gpr().expect("a general register")),
        }
    }
    fn set(&mut self, reg: Reg, value: u64) {
        match reg {
            Reg::RIP => self.0.regs.rip = value,
            Reg::FLAGS => self.0.regs.eflags = value,
            _ => *self.0.gpr_mut(reg.as_gpr().expect("a general register")) = value,
        }
    }
}

/// The memory of a state.
struct Ram(State);

impl Ram {
    fn part(&mut self, address: u64, length: usize) -> Result<&mut [u8], Fault> {
        let part = |(start, window): (u64, &'_ mut [u8])| -> Option<(usize, u64)> {
            let at = usize::try_from(address.checked_sub(start)?).ok()?;
            window.get(at..at.checked_add(length)?).map(|_| (at, start))
        };
        let (at, start) = self.0.windows_mut().into_iter().find_map(part).ok_or(Fault::Page(address))?;
        let window = self.0.windows_mut().into_iter().find(|(found, _)| *found == start).expect("it was found").1;
        Ok(&mut window[at..at + length])
    }
}

impl Memory for Ram {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        buffer.copy_from_slice(self.part(address, buffer.len())?);
        Ok(())
    }
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.part(address, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }
}

/// The bytes of an instruction with an opcode, with random prefixes and operands. Memory that 32-bit addresses reach is at `low`.
fn bytes(map: Map, opcode: u8, bits: Bits, low: u64, rng: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    if rng.below(4) == 0 {
        bytes.push(0x66);
    }
    if map != Map::OneByte && rng.below(4) == 0 {
        bytes.push(0xf2);
    }
    if rng.below(16) == 0 {
        bytes.push([0x67, 0xf0, 0xf2, 0xf3, 0x64, 0x65, 0x2e, 0x36][rng.below(8) as usize]);
    }
    if bits == Bits::B64 && rng.below(3) != 0 {
        bytes.push(0x40 | rng.below(16) as u8);
    }
    match map {
        Map::M0F => bytes.push(0x0f),
        Map::M0F38 => bytes.extend([0x0f, 0x38]),
        _ => {}
    }
    bytes.push(opcode);
    // Small displacements stay near the data to which registers point.
    let modrm = (rng.below(2) as u8) << 6 | (rng.below(64) as u8);
    if map == Map::OneByte && (0xa0..=0xa3).contains(&opcode) {
        bytes.extend((low + rng.below(512)).to_le_bytes());
    } else {
        bytes.push(modrm);
    }
    bytes.extend((0..12).map(|_| rng.next() as u8));
    bytes
}

/// What differs between the processor's state after an instruction and that of the access.
fn difference(insn: &Insn, before: State, after: &State) -> Option<String> {
    let mmio = Mmio::of(insn, before.regs.rip)?;
    let (mut thread, mut ram) = (Thread(before.clone()), Ram(before));
    match mmio.run(&mut thread, &mut ram) {
        Ok(Outcome::Done) => {}
        other => return Some(format!("{other:?}")),
    }
    for number in 0..16 {
        let (own, processor) = (thread.0.gpr(number), after.gpr(number));
        if own != processor {
            return Some(format!("{:?} {own:#x} {processor:#x}", Reg::gpr(number)));
        }
    }
    // The processor executed the `int3` behind the instruction, too.
    if thread.0.regs.rip + 1 != after.regs.rip {
        return Some(format!("rip {:#x} {:#x}", thread.0.regs.rip, after.regs.rip));
    }
    let flags = (thread.0.regs.eflags ^ after.regs.eflags) & !u64::from(insn.flags_undefined().bits());
    if flags != 0 {
        return Some(format!("flags {flags:#x}"));
    }
    let (own, processor) = (ram.0.windows(), after.windows());
    let differs = own.iter().zip(processor).find(|((_, own), (_, processor))| own != processor);
    differs.map(|((start, _), _)| format!("memory at {start:#x}"))
}

fn run(name: &str, mut lab: Lab, bits: Bits) {
    if lab.is_emulated() {
        return skip(name, "QEMU runs movbe with 66 and REX.W, and the second form of test, as no processor does");
    }
    let rng = &mut Random::new(number("LOCKSTEP_SEED", 1));
    let cases = number("LOCKSTEP_CASES", 40);
    let (mut differences, mut completed) = (Vec::new(), BTreeMap::<(u8, String), u64>::new());
    for map in [Map::OneByte, Map::M0F, Map::M0F38] {
        for opcode in 0..=255 {
            let mut accesses = 0;
            for _ in 0..20 * cases {
                let Ok(insn) = decode(&bytes(map, opcode, bits, lab.layout().low, rng), lab.mode()) else { continue };
                if (insn.map(), insn.opcode()) != (map, opcode) || Mmio::of(&insn, 0).is_none() {
                    continue;
                }
                let Some((before, after)) = lab.completed(&insn, rng).expect("the child lives") else { continue };
                if let Some(what) = difference(&insn, before, &after) {
                    differences.push(format!("{:02x?} {}: {what}", insn.bytes(), insn.mnemonic()));
                }
                let extension = insn.opcode_extension().filter(|_| map == Map::OneByte && opcode >= 0xf6);
                let name =
                    extension.map_or_else(|| format!("{opcode:02x}"), |extension| format!("{opcode:02x}/{extension}"));
                *completed.entry((map as u8, name)).or_default() += 1;
                accesses += 1;
                if accesses == cases {
                    break;
                }
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{} differ\n{}",
        differences.len(),
        differences[..differences.len().min(30)].join("\n")
    );
    let list = |map: Map| {
        let opcodes = completed.keys().filter(|(of, _)| *of == map as u8).map(|(_, opcode)| opcode.as_str());
        opcodes.collect::<Vec<_>>().join(" ")
    };
    // In 32-bit mode 82 is another 80, and 63 is no move.
    let one_byte = if bits == Bits::B64 { ONE_BYTE.to_string() } else { ONE_BYTE.replace(" 63 80 81", " 80 81 82") };
    assert_eq!([list(Map::OneByte), list(Map::M0F), list(Map::M0F38)], [&one_byte, M0F, M0F38]);
    assert!(completed.values().all(|count| *count >= cases / 16), "too few instructions completed: {completed:?}");
}

#[test]
fn accesses_of_64_bit_code_do_what_the_processor_does() {
    run("accesses_of_64_bit_code_do_what_the_processor_does", Lab::x86_64(), Bits::B64);
}

#[test]
fn accesses_of_32_bit_code_do_what_the_processor_does() {
    const NAME: &str = "accesses_of_32_bit_code_do_what_the_processor_does";
    match Lab::i386() {
        Ok(lab) => run(NAME, lab, Bits::B32),
        Err(error) => skip(NAME, error),
    }
}
