//! Finds the callers of a thread: the return addresses on its stack, and the registers of each frame.
//!
//! `sections.rs` follows the frames by framehop, which keeps three registers. `stack.rs` recovers the others on the way (`recover.rs`).

mod caller;
mod general;
#[cfg(target_arch = "aarch64")]
#[path = "arm64/mod.rs"]
mod native;
#[cfg(target_arch = "x86_64")]
#[path = "x86/mod.rs"]
mod native;
mod recover;
mod sections;
mod signed;
mod stack;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use framehop::{ModuleSectionInfo, Unwinder as _};
use object::{Object, ObjectSection};
use ubp::{Address, Pid, Registers, Session, StackCopy};

use self::caller::Caller;
pub(crate) use self::general::General;
use self::native::Stack;
pub use self::native::general_register;
pub(crate) use self::native::{Reg, THREAD_POINTER, vector_register};
use self::signed::without_signatures;
pub(crate) use self::stack::Raw;
use crate::elf::{Arch, contents};
use crate::process::Module;

/// The largest number of callers.
const DEPTH: usize = 128;

/// Finds the callers of one process' threads.
#[derive(Clone)]
pub(crate) struct Unwinder {
    stack: Stack,
}

impl fmt::Debug for Unwinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unwinder").finish_non_exhaustive()
    }
}

impl Unwinder {
    /// Reads the unwind information of all modules.
    pub(crate) fn new(modules: &[Module]) -> Unwinder {
        let mut stack = Stack::new();
        for module in modules {
            let Some(sections) = Sections::of(module) else { continue };
            let start = module.bias.wrapping_add(sections.base_svma());
            let end = module.bias.wrapping_add(module.image.end());
            // The range of a malformed file may be empty or wrap around.
            if start >= end {
                continue;
            }
            let name = || module.image.name().to_string();
            if let Some(frames) = module.image.debug_frames() {
                let section = Section { name: b".debug_frame".to_vec(), range: 0..0, data: Arc::clone(&frames.data) };
                let debug = Sections { base: sections.base, sections: vec![section] };
                stack.unwinders.by_debug.add_module(framehop::Module::new(name(), start..end, start, debug));
            }
            stack.unwinders.by_exceptions.add_module(framehop::Module::new(name(), start..end, start, sections));
        }
        Unwinder { stack }
    }

    /// Returns the return addresses of a held thread's callers, the innermost first.
    ///
    /// `at_start` states that the thread is at a function's first instruction, whose frame is not set up yet.
    pub(crate) fn callers(
        &mut self,
        session: &Session,
        pid: Pid,
        modules: &[Module],
        registers: &Registers,
        at_start: bool,
    ) -> Vec<u64> {
        let word = |address, size| read_word(session, pid, address, size);
        let callers = self.follow(modules, registers, at_start, DEPTH, word);
        callers.into_iter().map(|caller| caller.address).collect()
    }

    /// Returns the return addresses of the callers of a thread that ran on, the innermost first, from a copy of its stack, and whether the copy
    /// ended before they did. `at_start`: see [`Unwinder::callers`].
    pub(crate) fn callers_in(&mut self, stack: &StackCopy, modules: &[Module], at_start: bool) -> (Vec<u64>, bool) {
        let end = stack.registers.sp().0.saturating_add(stack.bytes.len() as u64);
        let mut has_ended = false;
        let word = |address: u64, size: usize| {
            let mut bytes = [0; 8];
            let read = stack.read(Address(address), bytes.get_mut(..size)?);
            has_ended = has_ended || (read < size && address.saturating_add(size as u64) > end);
            (read == size).then(|| u64::from_le_bytes(bytes))
        };
        let callers = self.follow(modules, &stack.registers, at_start, DEPTH, word);
        (callers.into_iter().map(|caller| caller.address).collect(), has_ended && stack.is_cut)
    }

    /// Returns the frames of a held thread's stack with their registers, the innermost first, at most `depth` of them and one more.
    pub(crate) fn frames(
        &mut self,
        session: &Session,
        pid: Pid,
        modules: &[Module],
        registers: &Registers,
        at_start: bool,
        depth: usize,
    ) -> Vec<Raw> {
        let word = |address, size| read_word(session, pid, address, size);
        let callers = self.follow(modules, registers, at_start, depth.min(DEPTH), word);
        let read = |address, buffer: &mut [u8]| session.read_memory(pid, Address(address), buffer).unwrap_or(0);
        stack::frames(modules, registers, &callers, read)
    }

    fn follow(
        &mut self,
        modules: &[Module],
        registers: &Registers,
        at_start: bool,
        depth: usize,
        word: impl FnMut(u64, usize) -> Option<u64>,
    ) -> Vec<Caller> {
        let module = |address: u64| modules.iter().find(|module| module.contains(address));
        let by_debug_alone = |address: u64| module(address).is_some_and(|module| is_by_debug_alone(module, address));
        let pc = registers.pc().0;
        // Frame pointers do not work at a function's first instruction, but unwind information does. It is not read for 32-bit code.
        let is_undescribed =
            |module: &Module| module.image.arch() == Arch::I386 || !module.image.is_described(module.in_file(pc));
        let frameless = at_start && module(pc).is_none_or(is_undescribed);
        self.stack.callers(registers, frameless, depth, by_debug_alone, word)
    }
}

/// The sections that framehop asks for by name.
struct Sections {
    base: u64,
    sections: Vec<Section>,
}

struct Section {
    name: Vec<u8>,
    range: Range<u64>,
    data: Arc<[u8]>,
}

impl Sections {
    fn of(module: &Module) -> Option<Sections> {
        const WANTED: &[&str] = &[".text", ".eh_frame", ".eh_frame_hdr", ".got", ".plt"];
        let image = &module.image;
        let base = image.segments().iter().map(|segment| segment.address).min()? & !0xfff;
        let sections = image.with_file(|file| {
            let mut found = Vec::new();
            for section in file.sections() {
                let Ok(name) = section.name() else { continue };
                if WANTED.contains(&name) {
                    let data = contents(image.source(), &section);
                    let range = section.address()..section.address().saturating_add(section.size());
                    let data = match (image.arch(), name) {
                        (Arch::Arm64, ".eh_frame") => Arc::from(without_signatures(&data)),
                        _ => data,
                    };
                    found.push(Section { name: name.as_bytes().to_vec(), range, data });
                }
            }
            found
        })?;
        Some(Sections { base, sections })
    }

    fn find(&self, name: &[u8]) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }
}

impl ModuleSectionInfo<Arc<[u8]>> for Sections {
    fn base_svma(&self) -> u64 {
        self.base
    }
    fn section_svma_range(&mut self, name: &[u8]) -> Option<Range<u64>> {
        self.find(name).map(|section| section.range.clone())
    }
    fn section_data(&mut self, name: &[u8]) -> Option<Arc<[u8]>> {
        self.find(name).map(|section| Arc::clone(&section.data))
    }
}

/// Whether only `.debug_frame` describes the code at an address in memory.
fn is_by_debug_alone(module: &Module, address: u64) -> bool {
    let address = module.in_file(address);
    let frames = module.image.debug_frames().filter(|frames| frames.functions.hold(address));
    frames.is_some() && !module.image.by_exceptions().hold(address)
}

fn read_word(session: &Session, pid: Pid, address: u64, size: usize) -> Option<u64> {
    let mut bytes = [0; 8];
    let wanted = bytes.get_mut(..size)?;
    let read = session.read_memory(pid, Address(address), wanted).ok()?;
    (read == size).then(|| u64::from_le_bytes(bytes))
}
