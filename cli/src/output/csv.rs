//! Lines of comma-separated values (RFC 4180).

use std::fmt::Write;

/// One line. Fields with commas or quotes are quoted; newlines are escaped where the line is written.
pub(crate) fn record(fields: &[String]) -> String {
    let mut line = String::new();
    for (number, field) in fields.iter().enumerate() {
        let comma = if number == 0 { "" } else { "," };
        let is_plain = !field.contains([',', '"', '\n', '\r']) && field.trim() == field;
        // A String takes all text.
        let _ = match is_plain {
            true => write!(line, "{comma}{field}"),
            false => write!(line, "{comma}\"{}\"", field.replace('"', "\"\"")),
        };
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_and_quotes_are_quoted() {
        let fields = ["7", "", "a, b", "say \"x\"", " y"].map(String::from);
        assert_eq!(record(&fields), "7,,\"a, b\",\"say \"\"x\"\"\",\" y\"");
    }
}
