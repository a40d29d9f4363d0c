//! Records of hits: the module tells of a hit while the thread goes on, or the session makes the record of the held thread.

use std::time::Duration;

use wire::Status;

use super::recorder::command;
use super::{Kernel, arch, failed};
use crate::ptrace::arguments;
use crate::record::{StackCopy, TEXT, Text};
use crate::{Address, Pid, Record, Result, Spec, Tid, WhenFull};

/// The lowest address of text: that of memory that a program can map (`vm.mmap_min_addr`).
const LOWEST: u64 = 0x1_0000;

impl Kernel {
    /// Whether the module tells of the hits of breakpoints. A module that does not know the command `buffer` holds their threads.
    pub(super) fn records_by_module(&mut self, pid: Pid) -> Result<bool> {
        if let Some(known) = self.recorder.by_module {
            return Ok(known);
        }
        let told = self.channel.ask(command(&self.options), |told| told.map(drop))?;
        let known = match told {
            Ok(()) => true,
            Err(failure) if failure.status == Status::Unknown => false,
            Err(failure) => return Err(failed(pid, "buffer", failure)),
        };
        self.channel.count_lost(known && self.options.buffer.when_full != WhenFull::Wait);
        self.recorder.by_module = Some(known);
        Ok(known)
    }

    /// Makes records of the hits of which the module has told so far.
    pub(super) fn note_hits(&mut self) {
        for hit in self.channel.take_hits() {
            let Some(pid) = self.named(hit.debuggee).or_else(|| self.ended_as(hit.debuggee)) else { continue };
            let Some(raw) = arch::registers(&hit.registers) else { continue };
            // The return address lies at the stack pointer on x86, and in a register on arm64.
            let (arguments, caller) = arguments(&raw, |_, buffer| {
                let there = hit.stack.get(..buffer.len()).unwrap_or_default();
                buffer.get_mut(..there.len()).unwrap_or_default().copy_from_slice(there);
                there.len()
            });
            let record = Record {
                pid,
                tid: Tid(hit.thread as i32),
                address: Address(hit.address),
                time: Duration::from_nanos(hit.time),
                arguments,
                return_address: caller.map(Address),
                text: None,
                stack: None,
            };
            self.recorder.push(record, self.options.buffer);
        }
    }

    /// Makes the record of a held thread, with the memory at each argument and the stack if the breakpoint asks for them.
    pub(super) fn record_held(&mut self, pid: Pid, tid: Tid, spec: &Spec, time: Duration) -> Result<()> {
        let mut registers = self.registers(tid)?;
        let read = |address, buffer: &mut [u8]| self.read(pid, address, buffer);
        let (arguments, caller) = arguments(&registers.raw, read);
        let text_at = |address: u64| {
            let mut text = Text::NONE;
            if address >= LOWEST {
                text.length = read(address, &mut text.bytes).min(TEXT) as u8;
            }
            text
        };
        let text_of = |number: usize| match arguments.get(number) {
            Some(address) if spec.text >> number & 1 != 0 => text_at(*address),
            _ => Text::NONE,
        };
        let text = (spec.text != 0).then(|| Box::new(std::array::from_fn(text_of)));
        let room = usize::from(self.options.buffer.stack);
        let stack = (spec.stack && room > 0).then(|| {
            let mut bytes = vec![0; room];
            let length = read(registers.sp().0, &mut bytes);
            bytes.truncate(length);
            registers.set_pc(spec.address);
            Box::new(StackCopy { registers, bytes: bytes.into(), is_cut: length == room })
        });
        let return_address = caller.map(Address);
        let address = spec.address;
        self.recorder
            .push(Record { pid, tid, address, time, arguments, return_address, text, stack }, self.options.buffer);
        Ok(())
    }

    /// Takes all recorded hits, in the order of their times.
    pub(super) fn take_all_records(&mut self) -> Vec<Record> {
        if self.recorder.by_module == Some(true) {
            // The next event meets what prevents reading.
            let _ = self.channel.gather();
            self.note_hits();
        }
        let mut records: Vec<Record> = std::mem::take(&mut self.recorder.records).into();
        records.sort_by_key(|record| record.time);
        records
    }

    /// The number of hits that the module lost or overwrote, and of those that were overwritten here.
    pub(super) fn all_lost(&self) -> u64 {
        self.channel.lost() + self.recorder.overwritten
    }

    /// The process with this number in the channel that has ended.
    fn ended_as(&self, number: u64) -> Option<Pid> {
        self.ended.iter().find(|(_, debuggee)| debuggee.number == number).map(|(pid, _)| *pid)
    }
}
