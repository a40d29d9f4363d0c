//! What tests need to know of x86.

/// Where programs of its own are.
pub(crate) const FOLDER: &str = "x86";
/// Builds of a program that looks for a tracer.
pub(crate) const BUILDS: &[&[&str]] = &[&["-static"], &["-static", "-m32"]];

/// The register that an instruction loads with a number, by its place in a trace, and the number.
pub(crate) fn loads(code: &[u8]) -> Option<(usize, u64)> {
    // mov eax, imm32
    let [0xb8, a, b, c, d, ..] = *code else { return None };
    Some((0, u32::from_le_bytes([a, b, c, d]).into()))
}
