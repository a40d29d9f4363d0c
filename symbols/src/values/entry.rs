//! Values at the entry of a function whose caller is known: what the caller's code says that it gave.

use super::expression::{Base, Entry, Frame, Given};
use super::thread::Thread;
use crate::code::{self, vendor};
use crate::elf::{Arch, Kind};
use crate::process::{Caller, Module};
use crate::unwind::General;

/// The length of a direct call in bytes.
const CALL: [(Arch, u64); 2] = [(Arch::X86_64, 5), (Arch::Arm64, 4)];

/// A function of a module, whose first instruction is at an address in memory, and the frame that called it.
pub(super) struct Called<'a> {
    pub(super) module: &'a Module,
    pub(super) start: u64,
    pub(super) caller: &'a Caller,
}

/// The registers of a caller, and the memory of its thread.
struct InCaller<'a> {
    registers: &'a General,
    thread: &'a mut dyn Thread,
}

impl Thread for InCaller<'_> {
    fn general(&mut self, number: u16) -> Option<u64> {
        self.registers.get(number)
    }

    fn vector(&mut self, _: u16) -> Option<Vec<u8>> {
        None
    }

    fn read(&mut self, address: u64, buffer: &mut [u8]) -> usize {
        self.thread.read(address, buffer)
    }
}

impl Given for Called<'_> {
    fn given(&self, register: u16, thread: &mut dyn Thread, depth: u32) -> Option<u64> {
        let (caller, of) = (self.caller, self.caller.module.as_ref()?);
        if !self.is_called(of) || self.module.image.may_begin_anew(self.module.in_file(self.start)) {
            return None;
        }
        let image = &of.image;
        let site = image.call_site(of.in_file(caller.address))?;
        let location = site.given(register)?;
        let scope = image.scope(of.in_file(caller.inside)).ok().flatten();
        let base = scope.as_ref().and_then(|scope| scope.frame_base.as_ref()).map_or(Base::Unknown, Base::At);
        let before = scope.as_ref().zip(caller.caller.as_deref()).map(|(scope, before)| Called {
            module: of,
            start: of.in_memory(scope.start),
            caller: before,
        });
        let entry = before.as_ref().map_or(Entry::Unknown, |before| Entry::Given(before));
        let mut thread = InCaller { registers: &caller.registers, thread };
        let (arch, bias, types, cfa) = (image.arch(), of.bias, image.types(), caller.cfa);
        let mut frame = Frame { thread: &mut thread, arch, bias, file: None, types, cfa, base, entry };
        frame.number_within(location, None, depth).ok()
    }
}

impl Called<'_> {
    /// Whether the instruction before the return address is a call of the function itself, directly or by a stub of the linker: a called function may
    /// jump to another one, which has the same return address.
    fn is_called(&self, of: &Module) -> bool {
        let arch = of.image.arch();
        let length = CALL.iter().find(|(known, _)| *known == arch).map(|(_, length)| *length);
        let target = length.and_then(|length| {
            let at = of.in_file(self.caller.address).wrapping_sub(length);
            let bytes = of.image.read_at(at, length)?;
            let call = code::decode(&bytes, at, arch.mode(vendor())).filter(|call| call.flow == insn::Flow::Call)?;
            call.target.filter(|_| call.len as u64 == length)
        });
        let Some(target) = target else { return false };
        if of.in_memory(target) == self.start {
            return true;
        }
        let symbols = self.module.image.symbols();
        let stub = of.image.symbols().at(target).find(|symbol| symbol.kind == Kind::Plt);
        let name = stub.and_then(|stub| stub.name.strip_suffix("@plt"));
        let start = self.module.in_file(self.start);
        name.is_some_and(|name| symbols.at(start).any(|symbol| symbol.name == name))
    }
}
