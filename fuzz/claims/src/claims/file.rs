use insn::x86::Vendor;
use survey::{Code, Survey, Uprobes};
use ubp_symbols::values::operands;
use ubp_symbols::{Image, Names};

use crate::generate;

/// Whatever a file holds, reading it ends, soon and with little memory, in a survey or in what is wrong with it.
///
/// What begins as an ELF file does is taken as it is; other bytes are what a file is made of.
pub fn file(data: &[u8]) {
    let bytes = if data.starts_with(b"\x7fELF") { data.to_vec() } else { generate::file(data) };
    let Ok(image) = Image::parse("file".into(), bytes) else { return };
    read(&image);
    let code = Code::of(&image, image.arch().mode(Vendor::Intel));
    let survey = Survey::of(&code, |_, _| {});
    let counts = &survey.counts;
    let by_way = counts.emulated + counts.boosted + counts.trapped + counts.stepped + counts.refused;
    assert_eq!(by_way, counts.instructions);
    assert_eq!(survey.refusals.len() as u64, counts.refused);
    assert_eq!(survey.undecodable.iter().map(|run| run.bytes.len() as u64).sum::<u64>(), counts.undecodable_bytes);
    let uprobes = Uprobes::of(&code);
    let listed: u64 = uprobes.refused.values().chain(uprobes.wrong.values()).sum();
    assert_eq!((uprobes.listed.len() as u64, uprobes.passed + listed), (listed, uprobes.instructions));
}

/// Reads symbols and their names, stubs, static probes, lines, code and instructions.
fn read(image: &Image) {
    let mode = |image: &Image| image.arch().mode(Vendor::Intel);
    for (symbol, _) in image.symbols().readable() {
        Names::of(symbol.name);
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
}
