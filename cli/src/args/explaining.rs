//! The arguments of `ntrace explain` and `ntrace survey`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The arguments of `ntrace explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The instruction's bytes (on arm64 also words of eight digits), or - for one instruction a line of standard input
    #[arg(required = true, value_name = "HEX|-")]
    pub(crate) hex: Vec<String>,

    /// The architecture of the code
    #[arg(long, value_enum, default_value_t = Arch::X86_64)]
    pub(crate) arch: Arch,

    /// The address of the first instruction, decimal or hexadecimal with 0x
    #[arg(long, value_name = "ADDR", default_value = "0x400000", value_parser = parse_number)]
    pub(crate) at: u64,

    /// The processor vendor, for encodings that Intel and AMD read differently [default: this machine's]
    #[arg(long, value_enum)]
    pub(crate) vendor: Option<Vendor>,

    /// Write JSON, one object an instruction
    #[arg(long)]
    pub(crate) json: bool,

    /// Accept values of reserved bits that known processors ignore
    #[arg(long)]
    pub(crate) lenient: bool,
}

/// The arguments of `ntrace survey`.
#[derive(Debug, Args)]
pub(crate) struct SurveyArgs {
    /// The ELF file: a program, library or debug file with code
    pub(crate) file: PathBuf,

    /// Write one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Tell what the kernel's kprobes do at each instruction of FILE, a kernel (vmlinux) or a module (.ko): which ones they refuse, and where a
    /// jump takes the place of the trap
    #[arg(long, conflicts_with = "uprobes")]
    pub(crate) kprobes: bool,

    /// Tell what the kernel's uprobes would do instead: which instructions they refuse, and at which the program would run wrong
    #[arg(long)]
    pub(crate) uprobes: bool,

    /// The processor vendor, for encodings that Intel and AMD read differently [default: this machine's]
    #[arg(long, value_enum)]
    pub(crate) vendor: Option<Vendor>,
}

/// The architectures by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arch {
    /// x86, 64-bit mode
    #[value(name = "x86_64", alias = "x86-64", alias = "amd64")]
    X86_64,
    /// x86, 32-bit code
    #[value(name = "i386", alias = "x86", alias = "i686")]
    I386,
    /// x86, 16-bit code
    #[value(name = "i8086", alias = "8086")]
    I8086,
    /// A64 code
    #[value(name = "arm64", alias = "aarch64")]
    Arm64,
}

/// The vendors of x86 processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Vendor {
    /// Intel
    Intel,
    /// AMD
    Amd,
}

impl From<Vendor> for insn::x86::Vendor {
    fn from(vendor: Vendor) -> insn::x86::Vendor {
        match vendor {
            Vendor::Intel => insn::x86::Vendor::Intel,
            Vendor::Amd => insn::x86::Vendor::Amd,
        }
    }
}

/// Parses a decimal number, or a hexadecimal one with 0x.
fn parse_number(text: &str) -> Result<u64, String> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    match hex {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    }
    .map_err(|error| format!("{error}"))
}
