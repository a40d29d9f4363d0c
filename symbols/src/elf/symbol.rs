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

/// One symbol. Its texts lie in the [`SymbolTable`](crate::SymbolTable) that it is of.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Symbol<'a> {
    /// The address in the file.
    pub address: u64,
    /// The size in bytes; 0 if the file does not state it.
    pub size: u64,
    /// What the symbol stands for.
    pub kind: Kind,
    /// Whether other modules can see the symbol.
    pub global: bool,
    /// The linker's name, without the version.
    pub name: &'a str,
    /// The symbol's version, and whether it is the default version.
    pub version: Option<(&'a str, bool)>,
}

impl Symbol<'_> {
    /// Whether a breakpoint can be set at the symbol.
    pub fn has_code(&self) -> bool {
        !matches!(self.kind, Kind::Data | Kind::ThreadLocal)
    }

    /// The name with the version: `memcpy@GLIBC_2.2.5`, for the default version also with `@@`.
    pub fn versioned(&self) -> impl Iterator<Item = String> {
        let signs = |default| if default { &["@", "@@"][..] } else { &["@"] };
        let forms = self
            .version
            .into_iter()
            .flat_map(move |(version, default)| signs(default).iter().map(move |sign| (sign, version)));
        forms.map(|(sign, version)| format!("{}{sign}{version}", self.name))
    }
}
