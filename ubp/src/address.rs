//! Addresses, processes and threads of debuggees as types.

use std::fmt;
use std::ops::{Add, Sub};

/// An address in a debuggee. `Debug` writes it in hexadecimal, as `Display` does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address(pub u64);

impl Address {
    /// The address `offset` bytes away, wrapping.
    #[must_use]
    pub const fn offset(self, offset: i64) -> Address {
        Address(self.0.wrapping_add_signed(offset))
    }
}

impl Add<u64> for Address {
    type Output = Address;
    fn add(self, bytes: u64) -> Address {
        Address(self.0.wrapping_add(bytes))
    }
}

impl Sub<Address> for Address {
    type Output = u64;
    fn sub(self, other: Address) -> u64 {
        self.0.wrapping_sub(other.0)
    }
}

impl From<u64> for Address {
    fn from(value: u64) -> Address {
        Address(value)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({:#x})", self.0)
    }
}

impl fmt::LowerHex for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}

/// A process, by its thread group id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(pub i32);

impl Pid {
    /// The first thread of the process.
    pub const fn leader(self) -> Tid {
        Tid(self.0)
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A thread, by its thread id (gettid(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(pub i32);

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_in_hexadecimal() {
        let address = Address(0x55d0_1234);
        assert_eq!(format!("{address} {address:x} {address:?}"), "0x55d01234 55d01234 Address(0x55d01234)");
        assert_eq!(format!("{:?}", [Address(0), Address(u64::MAX)]), "[Address(0x0), Address(0xffffffffffffffff)]");
    }
}
