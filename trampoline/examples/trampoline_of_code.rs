//! Prints the trampoline that counts at an instruction, with the meaning of each address.
//!
//! `cargo run --example trampoline_of_code -- 554889e54839fe0f92c05dc3`

use std::error::Error;
use std::io::Write;

use insn::x86::{Mode, decode};
use trampoline::x86::{Displacement, Place, Probe, Site, jump};

const PC: u64 = 0x40_1000;
const COUNTER: u64 = 0x50_0000;
const AT: u64 = 0x51_0000;

fn main() -> Result<(), Box<dyn Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| "554889e54839fe0f92c05dc3".to_owned());
    run(&text, &mut std::io::stdout())
}

/// Writes the trampoline of the code that is given in hexadecimal.
pub(crate) fn run(text: &str, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let pairs = text.as_bytes().chunks(2).map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?));
    let code = pairs.collect::<Result<Vec<u8>, Box<dyn Error>>>()?;
    let site = Site { pc: PC, code: &code, mode: Mode::INTEL_64, shadow_stack: false, keep_dead: false };
    let probe = Probe { arrivals: Some(COUNTER), ..Probe::default() };
    let (mut bytes, mut places) = ([0; 2048], [Place::EMPTY; 256]);
    let trampoline = site.assemble(&[probe], AT, &mut bytes, &mut places)?;

    let displacement = Displacement::candidates().next().ok_or("there are displacements")?;
    let mirror = displacement.mirror(PC);
    writeln!(out, "{PC:#x}: {:02x?}, which leads to {mirror:#x} in the mirror", jump(displacement))?;
    writeln!(out, "{} bytes of the program run in the trampoline", trampoline.run_len())?;
    for place in places.iter().take(trampoline.places()) {
        let rest = bytes.get(usize::from(place.offset)..).unwrap_or_default();
        let insn = format!("{:02x?}", decode(rest, site.mode)?.bytes());
        let at = AT + u64::from(place.offset);
        writeln!(out, "{at:#x}: {insn:<34} is {:#x}, {:?}", place.pc, place.progress)?;
    }
    Ok(())
}
