use crate::generate;

/// Whatever a file holds, reading it ends, soon and with little memory, in a survey or in what is wrong with it.
///
/// What begins as an ELF file does is taken as it is; other bytes are what a file is made of.
pub fn file(data: &[u8]) {
    let bytes = if data.starts_with(b"\x7fELF") { data.to_vec() } else { generate::file(data) };
    let mut out = Vec::new();
    let answer = ntrace::examine(bytes, &mut out);
    assert!(answer.is_ok() != out.is_empty());
}
