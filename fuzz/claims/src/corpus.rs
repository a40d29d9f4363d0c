//! Checked-in inputs: one a line, in hexadecimal.

/// The inputs of a file's text.
///
/// # Errors
/// The first line that is not hexadecimal.
pub fn parse(text: &str) -> Result<Vec<Vec<u8>>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(number, line)| bytes(line).ok_or_else(|| format!("line {}: not hexadecimal", number + 1))).collect()
}

/// The bytes of an even number of hexadecimal digits.
pub fn bytes(digits: &str) -> Option<Vec<u8>> {
    if digits.len() % 2 != 0 {
        return None;
    }
    digits.as_bytes().chunks_exact(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// The line of an input.
pub fn line(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
