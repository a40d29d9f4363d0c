//! All that is ever read from the bytes of an ELF file, read at once: a file is not to be trusted.

use std::io::Write;

use insn::x86::Vendor;

use crate::output::Output;
use crate::survey;
use crate::symbols::{Image, Names};

/// Reads symbols and their names, stubs, lines, code and instructions of the file whose bytes are `data`, and writes its survey to
/// `out`.
///
/// # Errors
/// What is wrong with the file, or why it could not be written.
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
    let _ = (image.is_dynamic(), image.is_library(), image.is_fixed(), image.end(), image.debug_frames());
    for &address in image.instructions(mode) {
        image.lines().and_then(|lines| lines.of(address));
    }
    if let Some(lines) = image.lines() {
        lines.find("main.c");
    }
    let mut out = Output::new("survey".into(), out);
    survey::write(&image, mode(&image), &mut out).and_then(|()| out.flush()).map_err(|error| error.to_string())
}
