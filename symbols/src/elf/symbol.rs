//! One symbol of a file.

/// What a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// A function's first instruction.
    Function,
    /// A function that returns the address of the function to use (`STT_GNU_IFUNC`).
    Indirect,
    /// A stub that jumps to another module's function (procedure linkage table).
    Plt,
    /// An assembler's label in code.
    Label,
    /// Data, which has no code.
    Data,
    /// Data of each thread; the symbol's address is an offset in the thread's storage (`STT_TLS`).
    ThreadLocal,
}

/// One symbol.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Symbol {
    /// The address in the file.
    pub address: u64,
    /// The size in bytes; 0 if the file does not state it.
    pub size: u64,
    /// What the symbol stands for.
    pub kind: Kind,
    /// Whether other modules can see the symbol.
    pub global: bool,
    /// The linker's name, without the version.
    pub name: Box<str>,
    /// The symbol's version, and whether it is the default version.
    pub version: Option<(Box<str>, bool)>,
}

impl Symbol {
    /// Whether a breakpoint can be set at the symbol.
    pub fn has_code(&self) -> bool {
        !matches!(self.kind, Kind::Data | Kind::ThreadLocal)
    }

    /// The name with the version: `memcpy@GLIBC_2.2.5`, for the default version also with `@@`.
    pub fn versioned(&self) -> impl Iterator<Item = String> {
        let signs = |(_, default): &(Box<str>, bool)| if *default { &["@", "@@"][..] } else { &["@"] };
        let forms =
            self.version.iter().flat_map(move |version| signs(version).iter().map(move |sign| (sign, &version.0)));
        forms.map(|(sign, version)| format!("{}{sign}{version}", self.name))
    }
}
