//! Shows what an instruction of 64-bit code reads and writes: `registers_of_an_instruction 48 8b 44 24 08`.

use std::error::Error;
use std::io::{self, Write};

use insn::x86::{Mode, decode};

/// Decodes hexadecimal bytes and writes a description.
pub(crate) fn run(bytes: &[String], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let bytes: Vec<u8> = bytes.iter().map(|byte| u8::from_str_radix(byte, 16)).collect::<Result<_, _>>()?;
    let insn = decode(&bytes, Mode::INTEL_64)?;
    writeln!(out, "length  {}", insn.len())?;
    writeln!(out, "flow    {:?}, target {:?}", insn.flow(), insn.target())?;

    // One look-up for all effects; `insn.reads()` and similar methods give one of them.
    let effects = insn.effects();
    writeln!(out, "reads   {:?}", effects.reads)?;
    writeln!(out, "writes  {:?}", effects.writes)?;
    writeln!(out, "flags   reads {:?}, writes {:?}", effects.flags_read, effects.flags_written)?;
    for memory in effects.memory.iter().chain(effects.implicit_memory.iter().flatten()) {
        let base = memory.base.map_or(String::from("0"), |base| base.to_string());
        writeln!(out, "memory  {:?}, {} bytes at {base}{:+#x}", memory.access, memory.size, memory.displacement)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let bytes: Vec<String> = std::env::args().skip(1).collect();
    run(&bytes, &mut io::stdout())
}
