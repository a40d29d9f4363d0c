// SPDX-License-Identifier: GPL-2.0

//! Values of the current thread at a hit.

use fastpath::arch::within;
use fastpath::{chunks, Registers};
use ubp::arch::BREAKPOINT;
use wire::rule::Value;
use wire::site::Base;

use crate::breakpoints::table::Breakpoints;
use crate::channel::opener::Opener;
use crate::mm::current;
use crate::mm::remote::Remote;
use crate::mm::space::Space;
use crate::thread::held::{general_registers, GENERAL};

/// Reads values of the current thread at a hit.
pub(crate) struct Reader<'a> {
    pub(crate) opener: &'a Opener,
    /// The session's number for the process.
    pub(crate) debuggee: u64,
    pub(crate) space: &'a Space,
    pub(crate) registers: &'a Registers,
    /// The address of the breakpoint, and the number of its hits.
    pub(crate) address: u64,
    pub(crate) count: u64,
    /// The general registers as the kernel shows them and their length, once a value has asked for what the trap frame does not tell.
    general: Option<([u8; GENERAL], usize)>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        (opener, debuggee): (&'a Opener, u64),
        space: &'a Space,
        registers: &'a Registers,
        address: u64,
        count: u64,
    ) -> Reader<'a> {
        Reader { opener, debuggee, space, registers, address, count, general: None }
    }

    /// A value of the thread. `None`: it cannot be read.
    pub(crate) fn value(&mut self, value: Value) -> Option<u64> {
        match value {
            Value::Register { number, size } => Some(lowest(self.register(number)?, size)),
            Value::Memory { base, offset, size } => {
                let base = self.base(base)?;
                self.memory(base.wrapping_add(offset), size)
            }
            Value::Hits => Some(self.count),
            Value::Address => Some(self.address),
            Value::Thread => Some(self.opener.this_thread()),
            Value::Debuggee => Some(self.debuggee),
            _ => None,
        }
    }

    /// The base of an address.
    pub(crate) fn base(&mut self, base: Base) -> Option<u64> {
        match base {
            Base::Stack => Some(self.registers.sp()),
            Base::Zero => Some(0),
            Base::Register(number) => self.register(number),
        }
    }

    /// A word of the general registers.
    pub(crate) fn register(&mut self, number: u16) -> Option<u64> {
        if let Some(word) = self.registers.shown(usize::from(number)) {
            return Some(word);
        }
        let (general, length) = self.general.get_or_insert_with(|| {
            let mut general = [0; GENERAL];
            let length = general_registers(&mut general);
            (general, length)
        });
        let words = chunks(general.get(..*length)?);
        // The program may have written any number.
        let number = usize::from(number);
        let number = (number < words.len()).then(|| within(number, words.len()))?;
        words.get(number).map(|word| u64::from_ne_bytes(*word))
    }

    /// Memory with the original bytes in place of breakpoint instructions.
    pub(crate) fn memory(&self, address: u64, size: u8) -> Option<u64> {
        let mut bytes = [0; 8];
        let part = bytes.get_mut(..usize::from(size))?;
        if !current::fill(address, part) {
            return None;
        }
        if part.iter().any(|byte| BREAKPOINT.iter().any(|other| other == byte)) {
            // All attachments' breakpoints are looked for.
            let memory = Remote::new(self.space.mm(), self.debuggee);
            Breakpoints::new(self.space, memory, 0).clean(address, part);
        }
        Some(u64::from_le_bytes(bytes))
    }
}

/// The lowest bytes of a number.
fn lowest(number: u64, size: u8) -> u64 {
    let unused = 64_u32.wrapping_sub(8 * u32::from(size)) & 63;
    number << unused >> unused
}
