use arbitrary::{Arbitrary, Result, Unstructured};

/// The writes to a channel: messages, whole or not, and the lengths of the writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Lengths of the writes. The last write has the rest.
    pub cuts: Vec<u8>,
}

impl<'a> Arbitrary<'a> for Stream {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Stream> {
        let cuts = u.arbitrary()?;
        let mut bytes = Vec::new();
        while !u.is_empty() {
            if u.ratio(1, 16u8)? {
                bytes.extend(u.arbitrary::<[u8; 5]>()?);
            } else {
                message(u, &mut bytes)?;
            }
        }
        Ok(Stream { bytes, cuts })
    }
}

/// A head, and words after it, any of which may be the length of a blob. The length in the head is mostly right.
fn message(u: &mut Unstructured<'_>, bytes: &mut Vec<u8>) -> Result<()> {
    let code = u.arbitrary::<u8>()?;
    let code = if code & 0x80 == 0 { u16::from(code) } else { u.arbitrary()? };
    let (flags, tag): (u8, u8) = u.arbitrary()?;
    let mut words: Vec<u64> = Vec::new();
    for _ in 0..u.int_in_range(0..=6)? {
        let small: u8 = u.arbitrary()?;
        words.push(if small < 0xf0 { u64::from(small) } else { u.arbitrary()? });
    }
    let length = 2 + words.len() as u64;
    let length = if u.ratio(1, 32u8)? { u.arbitrary::<u32>()?.into() } else { length };
    let head = [length | u64::from(code) << 32 | u64::from(flags & 3) << 48, u64::from(tag)];
    bytes.extend(head.iter().chain(&words).flat_map(|word| word.to_ne_bytes()));
    Ok(())
}
