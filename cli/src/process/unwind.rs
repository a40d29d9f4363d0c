//! Who called: the return addresses on a thread's stack.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use framehop::{FrameAddress, ModuleSectionInfo};
use object::{Object, ObjectSection};
use ubp::{Address, Pid, Registers, Session};

use super::signed::without_signatures;
use super::space::{Module, Space};
use crate::native::Stack;
use crate::symbols::{Arch, contents};

/// More callers are not shown.
const DEPTH: usize = 128;

/// How the callers of a process' threads are found.
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
    fn new(modules: &[Module]) -> Unwinder {
        let mut stack = Stack::new();
        for module in modules {
            let Some(sections) = Sections::of(module) else { continue };
            let start = module.bias.wrapping_add(sections.base_svma());
            let end = module.bias.wrapping_add(module.image.end());
            let name = module.image.name().to_string();
            // A file whose code is mapped in pieces still has one numbering.
            if start < end {
                stack.add(framehop::Module::new(name, start..end, start, sections));
            }
        }
        Unwinder { stack }
    }
}

/// Sections by name, as framehop asks for them.
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

impl Space {
    /// The return addresses of a held thread's callers, the nearest first.
    ///
    /// `at_start`: the thread is at a function's first instruction, whose frame is not built yet.
    pub(crate) fn callers(&mut self, session: &mut Session, registers: &Registers, at_start: bool) -> Vec<u64> {
        let pid = self.pid;
        let word = |address: u64, size: usize| read_word(session, pid, address, size);
        let unwinder = self.unwinder.get_or_insert_with(|| Unwinder::new(&self.modules));
        unwinder.stack.callers(registers, at_start, DEPTH, word)
    }
}

/// The return addresses among frames, at most `depth`.
pub(crate) fn return_addresses(mut next: impl FnMut() -> Option<FrameAddress>, depth: usize) -> Vec<u64> {
    let mut found = Vec::new();
    while found.len() < depth {
        match next() {
            Some(FrameAddress::ReturnAddress(address)) => found.push(address.get()),
            Some(FrameAddress::InstructionPointer(_)) => {}
            None => break,
        }
    }
    found
}

fn read_word(session: &mut Session, pid: Pid, address: u64, size: usize) -> Option<u64> {
    let mut bytes = [0; 8];
    let wanted = bytes.get_mut(..size)?;
    let read = session.read_memory(pid, Address(address), wanted).ok()?;
    (read == size).then(|| u64::from_le_bytes(bytes))
}
