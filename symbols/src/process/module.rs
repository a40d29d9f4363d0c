//! A file that is mapped as code.

use std::ops::Range;
use std::rc::Rc;

use crate::symbols::{Arch, Image};

/// A file that is mapped as code in one process.
#[derive(Debug, Clone)]
pub(crate) struct Module {
    pub(crate) image: Rc<Image>,
    /// The difference between addresses in memory and in the file.
    pub(crate) bias: u64,
    /// The mapped code, as ranges of addresses in memory.
    pub(crate) code: Vec<Range<u64>>,
}

impl Module {
    /// Returns the address in memory of an address in the file.
    pub(crate) fn in_memory(&self, address: u64) -> u64 {
        let address = self.bias.wrapping_add(address);
        if self.image.arch() == Arch::I386 { address & 0xffff_ffff } else { address }
    }
    /// Returns the address in the file of an address in memory.
    pub(crate) fn in_file(&self, address: u64) -> u64 {
        address.wrapping_sub(self.bias)
    }
    /// Whether an address in memory is in this module's code.
    pub(crate) fn contains(&self, address: u64) -> bool {
        self.code.iter().any(|range| range.contains(&address))
    }

    /// Whether both are the same file with the same bias.
    pub(super) fn is_same(&self, other: &Module) -> bool {
        Rc::ptr_eq(&self.image, &other.image) && self.bias == other.bias
    }
}
