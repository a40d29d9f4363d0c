//! Reads everything that ntrace can read from an ELF file, for a fuzzer: files cannot be trusted.

use std::io::Write;

use insn::x86::Vendor;
use ubp_symbols::values::operands;
use ubp_symbols::{Image, Names};

use crate::commands::write_survey;
use crate::output::Output;

/// Reads symbols and their names, stubs, static probes, lines, code and instructions of the file with the bytes `data`, and writes its survey to `out`.
///
/// # Errors
/// The file is malformed, or `out` cannot be written.
pub fn examine(data: Vec<u8>, out: &mut impl Write) -> Result<(), String> {
    let image = Image::parse("file".into(), data).map_err(|error| error.to_string())?;
    let mode = |image: &Image| image.arch().mode(Vendor::Intel);
    for (symbol, _) in image.symbols().readable() {
        Names::of(&symbol.name);
        image.symbols().holding(symbol.address);
    }
    for segment in image.segments() {
        image.bias(0x40_0000, segment.file.start);
    }
    let _ = (image.is_dynamic(), image.is_library(), image.is_fixed(), image.end(), image.is_described(0));
    for &address in image.instructions(mode) {
        image.lines().and_then(|lines| lines.of(address));
    }
    for probe in image.static_probes() {
        operands(image.arch(), probe);
    }
    if let Some(lines) = image.lines() {
        lines.find("main.c");
    }
    let mut out = Output::new("survey".into(), out);
    write_survey(&image, mode(&image), &mut out).and_then(|()| out.flush()).map_err(|error| error.to_string())
}
