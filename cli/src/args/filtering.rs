//! The arguments that say which hits are wanted.

use clap::Args;

/// Which hits are wanted.
#[derive(Clone, Debug, Args)]
pub(crate) struct FilterArgs {
    /// Only hits for which EXPRESSION holds, such as 'size > 4096 && thread.name == "worker"'
    #[arg(long = "if", value_name = "EXPRESSION")]
    pub(crate) condition: Option<String>,

    /// Only one of N hits of a location: the first, and each Nth after it
    #[arg(long, value_name = "1/N", value_parser = one_of)]
    pub(crate) sample: Option<u64>,

    /// Only hits after a thread reached LOCATION for the first time. May be repeated
    #[arg(long, value_name = "LOCATION")]
    pub(crate) after: Vec<String>,

    /// Stop when a thread reaches LOCATION; a program that ntrace started runs on without breakpoints. May be repeated
    #[arg(long, value_name = "LOCATION")]
    pub(crate) until: Vec<String>,
}

impl FilterArgs {
    /// Whether single hits are left out.
    pub(crate) fn is_used(&self) -> bool {
        self.condition.is_some() || self.sample.is_some()
    }
}

/// Reads `1/N`.
fn one_of(text: &str) -> Result<u64, String> {
    let number = text.strip_prefix("1/").and_then(|number| number.parse().ok()).filter(|number| *number > 0);
    number.ok_or_else(|| "write 1/100 for one of 100 hits".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_one_of_a_number() {
        assert_eq!((one_of("1/1"), one_of("1/100")), (Ok(1), Ok(100)));
        for text in ["", "100", "1/0", "1/", "2/3", "1/-1", "1/1000000000000000000000"] {
            assert!(one_of(text).unwrap_err().contains("1/100"), "{text}");
        }
    }
}
