//! What tests need to know of AArch64.

/// Where programs of its own are.
pub(crate) const FOLDER: &str = "arm64";
/// Builds of a program that looks for a tracer.
pub(crate) const BUILDS: &[&[&str]] = &[&["-static"]];

/// The register that an instruction loads with a number, by its place in a trace, and the number.
pub(crate) fn loads(code: &[u8]) -> Option<(usize, u64)> {
    let word = u32::from_le_bytes(*code.first_chunk()?);
    // movz wD, #imm
    let is_move = word & 0xffe0_0000 == 0x5280_0000 && word & 31 != 31;
    is_move.then_some(((word & 31) as usize, u64::from(word >> 5 & 0xffff)))
}
