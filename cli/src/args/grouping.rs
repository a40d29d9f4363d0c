//! How `ntrace count` divides hits into rows.

use clap::Args;

use crate::native::{self, Reg};

/// The number of arguments that a hit tells.
const ARGUMENTS: usize = 6;

/// How hits are divided into rows.
#[derive(Clone, Debug, Args)]
pub(crate) struct GroupArgs {
    /// Print a row for each location and thread, process, caller, integer argument (arg0 to arg5), or register (at the location)
    #[arg(long, value_name = "thread|process|caller|VALUE", value_parser = Key::parse)]
    pub(crate) by: Option<Key>,

    /// Print for each row how often an integer argument (arg0 to arg5) or register had values from each power of two to the next
    #[arg(long, value_name = "VALUE", value_parser = Source::parse)]
    pub(crate) hist: Option<Source>,

    /// Print only the N rows with most hits, and the sum of the others. Memory stays bounded however many rows there are
    #[arg(long, value_name = "N", conflicts_with = "hist", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) top: Option<u32>,

    /// Print a row for each way to a location: the function and its callers, at most 128
    #[arg(long, conflicts_with_all = ["by", "hist", "serve", "otlp"])]
    pub(crate) stack: bool,
}

/// The property of a hit by which hits are divided into rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Thread,
    Process,
    Caller,
    Value(Source),
}

/// A value of a thread at a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// An integer argument of the function, from 0.
    Argument(usize),
    Register(Reg),
}

impl GroupArgs {
    /// Whether hits are divided at all.
    pub(crate) fn is_used(&self) -> bool {
        self.by.is_some() || self.hist.is_some() || self.top.is_some()
    }

    /// Whether a row needs a register.
    pub(crate) fn needs_registers(&self) -> bool {
        let by = match self.by {
            Some(Key::Value(source)) => Some(source),
            _ => None,
        };
        by.into_iter().chain(self.hist).any(|source| matches!(source, Source::Register(_)))
    }
}

impl Key {
    fn parse(text: &str) -> Result<Key, String> {
        match text {
            "thread" => Ok(Key::Thread),
            "process" => Ok(Key::Process),
            "caller" => Ok(Key::Caller),
            text => Source::parse(text).map(Key::Value),
        }
    }
}

impl Source {
    fn parse(text: &str) -> Result<Source, String> {
        let number = text.strip_prefix("arg").and_then(|digits| digits.parse::<usize>().ok());
        match (number, native::register(text)) {
            (Some(number), _) if number < ARGUMENTS => Ok(Source::Argument(number)),
            (_, Some(register)) => Ok(Source::Register(register)),
            _ => Err(format!("no such value: '{text}'; there are arg0 to arg{} and the registers", ARGUMENTS - 1)),
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Argument(number) => write!(f, "arg{number}"),
            Source::Register(register) => write!(f, "{register}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_and_registers_have_names() {
        assert_eq!(Key::parse("thread"), Ok(Key::Thread));
        assert_eq!(Key::parse("arg5"), Ok(Key::Value(Source::Argument(5))));
        let name = native::REGISTERS[2].to_string();
        assert_eq!(Source::parse(&name), Ok(Source::Register(native::REGISTERS[2])));
        assert_eq!(Source::parse(&name).unwrap().to_string(), name);
        for text in ["arg6", "arg", "", "xyz", "arg-1"] {
            assert!(Source::parse(text).unwrap_err().contains("arg0 to arg5"), "{text}");
        }
    }
}
