//! What an address is, in the words of people.

use std::fmt;

/// What an address is: a place in a function of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The name of the module's file.
    pub module: Option<String>,
    /// The linker's name of the function.
    pub symbol: Option<String>,
    /// The readable name of the function, if the linker's name is mangled.
    pub readable: Option<String>,
    /// The distance in bytes from the function's first instruction. Without a function, the address in the module's file, or in memory without
    /// a module.
    pub offset: u64,
    /// The path of the source file, as the compiler saw it, and the line.
    pub line: Option<(String, u32)>,
}

impl Place {
    /// The readable name of the function, or the linker's name if that is readable.
    pub fn function(&self) -> Option<&str> {
        self.readable.as_deref().or(self.symbol.as_deref())
    }
}

/// `libc.so.6!malloc+0x10 at malloc.c:3301`; what is unknown is left out. Names may contain control characters.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(module) = &self.module {
            write!(f, "{module}!")?;
        }
        match self.function() {
            Some(function) if self.offset == 0 => f.write_str(function)?,
            Some(function) => write!(f, "{function}+{:#x}", self.offset)?,
            None => write!(f, "{:#x}", self.offset)?,
        }
        match &self.line {
            Some((file, line)) => write!(f, " at {}:{line}", file.rsplit('/').next().unwrap_or(file)),
            None => Ok(()),
        }
    }
}
