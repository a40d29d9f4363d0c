//! Recovers the registers of a caller by unwind information.

use super::general::{COUNT, General};
use super::native;
use crate::elf::{Arch, Cfa, Rule};
use crate::process::Module;
use crate::types::Location;
use crate::values::{Base, Entry, ExpressionFrame, Thread};

/// What unwind information tells of a frame.
pub(super) struct Recovered {
    /// The address at which the frame of the caller begins.
    pub(super) cfa: u64,
    /// The registers of the caller.
    pub(super) caller: General,
    pub(super) return_address: Option<u64>,
    /// Whether a signal interrupted the caller, so that the return address is the instruction that comes next there.
    pub(super) is_signal: bool,
}

/// A frame whose registers are known in part, and memory.
struct Known<'a, R> {
    registers: &'a General,
    read: &'a mut R,
}

impl<R: FnMut(u64, &mut [u8]) -> usize> Thread for Known<'_, R> {
    fn general(&mut self, number: u16) -> Option<u64> {
        self.registers.get(number)
    }

    fn vector(&mut self, _: u16) -> Option<Vec<u8>> {
        None
    }

    fn read(&mut self, address: u64, buffer: &mut [u8]) -> usize {
        (self.read)(address, buffer)
    }
}

/// What unwind information tells of a frame with these registers. `inside` is the address in memory that decides. `None`: nothing describes the
/// code, or what is needed is not known.
pub(super) fn recover(
    module: &Module,
    inside: u64,
    registers: &General,
    read: &mut impl FnMut(u64, &mut [u8]) -> usize,
) -> Option<Recovered> {
    let arch = module.image.arch();
    if arch == Arch::I386 {
        return None;
    }
    let rules = module.image.unwind_rules(module.in_file(inside))?;
    let mut thread = Known { registers, read };
    let cfa = match &rules.cfa {
        Cfa::Register(number, offset) => registers.get(*number)?.wrapping_add_signed(*offset),
        Cfa::Expression(location) => number(module, &mut thread, location, None)?,
    };
    let mut caller = General::default();
    for number in 0..COUNT {
        caller.set(number, registers.get(number).filter(|_| is_kept(module, number)));
    }
    let mut return_address = registers.get(rules.return_address);
    for (register, rule) in &rules.registers {
        let value = match rule {
            Rule::Undefined => None,
            Rule::Same => registers.get(*register),
            Rule::At(offset) => word(&mut thread, cfa.wrapping_add_signed(*offset)),
            Rule::Is(offset) => Some(cfa.wrapping_add_signed(*offset)),
            Rule::Register(number) => registers.get(*number),
            Rule::AtExpression(location) => {
                number(module, &mut thread, location, Some(cfa)).and_then(|address| word(&mut thread, address))
            }
            Rule::IsExpression(location) => number(module, &mut thread, location, Some(cfa)),
            Rule::Constant(value) => Some(*value),
        };
        caller.set(*register, value);
        if *register == rules.return_address {
            return_address = value;
        }
    }
    // Another rule for the stack pointer stands only where a signal interrupted the caller.
    if !rules.registers.iter().any(|(register, _)| *register == native::STACK_POINTER) {
        caller.set(native::STACK_POINTER, Some(cfa));
    }
    let return_address = return_address.map(|address| address & native::ADDRESSES);
    Some(Recovered { cfa, caller, return_address, is_signal: rules.is_signal })
}

/// Whether functions of a module leave a register to their caller as it was, where unwind information says nothing.
fn is_kept(module: &Module, number: u16) -> bool {
    // Functions of Go keep no register (src/cmd/compile/abi-internal.md).
    native::KEPT.contains(&number) && !module.image.is_go()
}

fn number<T: Thread>(module: &Module, thread: &mut T, location: &Location, first: Option<u64>) -> Option<u64> {
    let (arch, bias) = (module.image.arch(), module.bias);
    let mut frame = ExpressionFrame {
        thread,
        arch,
        bias,
        file: None,
        types: None,
        cfa: None,
        base: Base::Unknown,
        entry: Entry::Unknown,
    };
    frame.number(location, first).ok()
}

fn word<T: Thread>(thread: &mut T, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    (thread.read(address, &mut bytes) == bytes.len()).then(|| u64::from_le_bytes(bytes))
}
