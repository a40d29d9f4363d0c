//! The memory in which code of jumps records hits.

use std::str::FromStr;

use ubp::WhenFull;

/// The numbers of records for which there may be room.
const LEAST: u32 = 64;
const MOST: u32 = 1 << 20;

/// The memory that the user asks for, as text `MODE` or `MODE:RECORDS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Buffer(pub(crate) ubp::Buffer);

impl FromStr for Buffer {
    type Err = String;

    fn from_str(text: &str) -> Result<Buffer, String> {
        let mut buffer = ubp::Buffer::default();
        let (mode, records) = text.split_once(':').map_or((text, None), |(mode, records)| (mode, Some(records)));
        buffer.when_full = match mode {
            "lossless" => WhenFull::Wait,
            "drop" => WhenFull::Drop,
            "circular" => WhenFull::Overwrite,
            _ => return Err(format!("'{mode}' is none of lossless, drop and circular")),
        };
        if let Some(records) = records {
            let number = records.parse().ok().filter(|number| (LEAST..=MOST).contains(number));
            buffer.records =
                number.ok_or_else(|| format!("'{records}' is no number of hits from {LEAST} to {MOST}"))?;
        }
        Ok(Buffer(buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_has_a_mode_and_perhaps_a_number_of_hits() {
        let parse = |text: &str| text.parse::<Buffer>().map(|Buffer(buffer)| (buffer.when_full, buffer.records));
        assert_eq!(parse("lossless"), Ok((WhenFull::Wait, 16_384)));
        assert_eq!(parse("drop:64"), Ok((WhenFull::Drop, 64)));
        assert_eq!(parse("circular:1048576"), Ok((WhenFull::Overwrite, 1 << 20)));
        for text in ["drop:", "drop:63", "drop:1048577", "drop:-1", "drop:1:2"] {
            assert!(parse(text).unwrap_err().contains("from 64 to 1048576"), "{text}");
        }
        for text in ["", "ring", ":64"] {
            assert!(parse(text).unwrap_err().contains("lossless, drop and circular"), "{text}");
        }
    }
}
