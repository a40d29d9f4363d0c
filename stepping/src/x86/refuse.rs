use core::fmt;

/// Why an instruction of x86 cannot carry a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The code segment is a 16-bit one, which is not supported.
    CodeSegment16,
    /// The instruction is `enclu`, which passes the address of the next instruction to the enclave (SDM vol. 3D, EENTER).
    Enclave,
    /// The instruction is `xbegin` with a 16-bit abort address, which no slot can reach.
    TransactionTarget16,
    /// The rip-relative operand is out of reach of the slot, and the instruction leaves no register free for its address.
    NoScratchRegister,
}

impl Refusal {
    /// The number of the reason, counted from 1, for interfaces that report numbers. Numbers never change.
    pub const fn number(&self) -> u64 {
        match self {
            Refusal::CodeSegment16 => 1,
            Refusal::Enclave => 2,
            Refusal::TransactionTarget16 => 3,
            Refusal::NoScratchRegister => 4,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::CodeSegment16 => "16-bit code is not stepped",
            Refusal::Enclave => "enclave entry stores its own address",
            Refusal::TransactionTarget16 => "16-bit transaction abort address",
            Refusal::NoScratchRegister => "rip-relative operand out of reach and no register free",
        })
    }
}

impl core::error::Error for Refusal {}
