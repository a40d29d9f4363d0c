//! A file that is mapped as code.

use std::ops::Range;
use std::rc::Rc;

use super::place::Place;
use crate::elf::{Arch, Image, demangle};

/// A file that is mapped as code in one process.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Module {
    /// The file.
    pub image: Rc<Image>,
    /// The difference between addresses in memory and in the file.
    pub bias: u64,
    /// The mapped code, as ranges of addresses in memory.
    pub code: Vec<Range<u64>>,
}

impl Module {
    /// Returns the module of a file that is mapped with a bias. `code` are the mapped ranges of code.
    pub fn new(image: Rc<Image>, bias: u64, code: Vec<Range<u64>>) -> Module {
        Module { image, bias, code }
    }

    /// Returns the address in memory of an address in the file.
    pub fn in_memory(&self, address: u64) -> u64 {
        let address = self.bias.wrapping_add(address);
        if self.image.arch() == Arch::I386 { address & 0xffff_ffff } else { address }
    }
    /// Returns the address in the file of an address in memory.
    pub fn in_file(&self, address: u64) -> u64 {
        address.wrapping_sub(self.bias)
    }
    /// Whether an address in memory is in this module's code.
    pub fn contains(&self, address: u64) -> bool {
        self.code.iter().any(|range| range.contains(&address))
    }

    /// Describes an address in memory. The address `inside` determines the function and the line: that of the call instruction for a return
    /// address, else the address itself.
    pub fn describe(&self, address: u64, inside: u64) -> Place {
        let (in_file, inside) = (self.in_file(address), self.in_file(inside));
        let symbol = self.image.symbols().holding(inside);
        Place {
            module: Some(self.image.name().to_string()),
            symbol: symbol.map(|symbol| symbol.name.to_string()),
            readable: symbol.and_then(|symbol| demangle(symbol.name)),
            offset: symbol.map_or(in_file, |symbol| in_file.wrapping_sub(symbol.address)),
            line: self.image.lines().and_then(|lines| lines.of(inside)),
        }
    }

    /// Whether both are the same file with the same bias.
    pub(super) fn is_same(&self, other: &Module) -> bool {
        Rc::ptr_eq(&self.image, &other.image) && self.bias == other.bias
    }
}
