use core::fmt;

/// Why an instruction cannot carry a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// 16-bit code segments are not stepped.
    CodeSegment16,
    /// `enclu` hands out the address of the instruction after it (SDM vol. 3D, EENTER).
    Enclave,
    /// `xbegin` with a 16-bit abort address that no slot can have.
    TransactionTarget16,
    /// The operand is out of reach of the slot and no register is free to lead to it.
    NoScratchRegister,
}

impl Refusal {
    /// Its number, from 1, where it is told as one. Numbers never change.
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
