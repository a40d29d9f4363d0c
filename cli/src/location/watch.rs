//! Memory to watch: its syntax, and its addresses in a file.

use ubp::Access;
use ubp_symbols::{Image, Kind, demangle};

use super::grammar::{Location, Meaning};

/// The letters of accesses.
const ACCESSES: [(&str, Access); 3] = [("w", Access::Write), ("rw", Access::ReadWrite), ("x", Access::Execute)];

/// Memory that the user asks to watch.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    /// The text on the command line.
    pub(crate) text: String,
    pub(crate) location: Location,
    /// The number of bytes; `None`: as many as the symbol has.
    pub(crate) length: Option<u64>,
    pub(crate) access: Access,
}

/// A variable of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Datum {
    /// The address in the file.
    pub(crate) address: u64,
    /// The bytes from the address to the end of the variable; 0 if they are not known.
    pub(crate) size: u64,
}

impl Watch {
    /// Parses `WHAT[:LENGTH][:ACCESS]`.
    ///
    /// # Errors
    /// The text means no memory. The error says why.
    pub(crate) fn parse(text: &str) -> Result<Watch, String> {
        let (mut rest, mut access, mut length) = (text, Access::Write, None);
        // The last colon of `a::w` belongs to a path of names.
        if let Some((before, letters)) = rest.rsplit_once(':').filter(|(before, _)| !before.ends_with(':')) {
            if letters == "r" {
                return Err("no debug register observes reads alone: watch rw, which is reads and writes".into());
            }
            if let Some((_, found)) = ACCESSES.iter().find(|(known, _)| *known == letters) {
                (rest, access) = (before, *found);
            }
        }
        if let Some((before, number)) = rest.rsplit_once(':').filter(|(before, _)| !before.ends_with(':')) {
            if let Ok(number) = number.parse() {
                (rest, length) = (before, Some(number));
            }
        }
        if length == Some(0) {
            return Err("the length must be at least 1 byte".into());
        }
        Ok(Watch { text: text.into(), location: Location::parse(rest)?, length, access })
    }

    /// The variables of an image, or for [`Access::Execute`] the functions, that the text means.
    pub(crate) fn find(&self, image: &Image) -> Vec<Datum> {
        let is_code = self.access == Access::Execute;
        for reading in self.location.readings.iter().filter(|reading| reading.covers(image)) {
            let mut found = Vec::new();
            match &reading.meaning {
                Meaning::Symbol { name, offset } => {
                    let wanted = |kind| match is_code {
                        true => kind == Kind::Function,
                        false => kind == Kind::Data,
                    };
                    for symbol in image.symbols().iter().filter(|symbol| wanted(symbol.kind)) {
                        if name.is(symbol.name) || demangle(symbol.name).is_some_and(|readable| name.is(&readable)) {
                            let (address, size) = (symbol.address.wrapping_add(*offset), symbol.size);
                            found.push(Datum { address, size: size.saturating_sub(*offset) });
                        }
                    }
                }
                Meaning::Address(address) if reading.module.is_some() => {
                    found.push(Datum { address: *address, size: 0 });
                }
                Meaning::Address(_) | Meaning::Inlined(_) | Meaning::Line { .. } | Meaning::Probe { .. } => {}
            }
            if !found.is_empty() {
                // Several symbols may name one variable.
                found.sort();
                found.dedup_by_key(|datum| datum.address);
                return found;
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_and_access_follow_the_name() {
        let read = |text| {
            let watch = Watch::parse(text).unwrap();
            (watch.location.text, watch.length, watch.access)
        };
        assert_eq!(read("counter"), ("counter".into(), None, Access::Write));
        assert_eq!(read("counter:4"), ("counter".into(), Some(4), Access::Write));
        assert_eq!(read("counter:rw"), ("counter".into(), None, Access::ReadWrite));
        assert_eq!(read("ns::counter:16:rw"), ("ns::counter".into(), Some(16), Access::ReadWrite));
        assert_eq!(read("ns::w"), ("ns::w".into(), None, Access::Write));
        assert_eq!(read("libc!environ+8:8:w"), ("libc!environ+8".into(), Some(8), Access::Write));
        assert_eq!(read("0x404000:x"), ("0x404000".into(), None, Access::Execute));
    }

    #[test]
    fn what_no_register_can_observe_is_refused() {
        assert!(Watch::parse("counter:r").unwrap_err().contains("reads alone"));
        assert!(Watch::parse("counter:0").unwrap_err().contains("at least 1"));
        assert!(Watch::parse("").is_err());
    }
}
