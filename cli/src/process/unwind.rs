//! Who called: the return addresses on a thread's stack.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{FrameAddress, ModuleSectionInfo, Unwinder as _};
use insn::x86::Reg;
use object::{Object, ObjectSection};
use ubp::{Address, Arch, Pid, Registers, Session};

use super::space::{Module, Space};

/// More callers are not shown.
const DEPTH: usize = 128;

/// Unwinds 64-bit code by unwind information, 32-bit code by frame pointers.
pub(crate) struct Unwinder {
    unwinder: UnwinderX86_64<Arc<[u8]>>,
    cache: CacheX86_64,
}

impl fmt::Debug for Unwinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unwinder").finish_non_exhaustive()
    }
}

impl Clone for Unwinder {
    /// A clone starts with nothing learnt.
    fn clone(&self) -> Unwinder {
        Unwinder { unwinder: self.unwinder.clone(), cache: CacheX86_64::new() }
    }
}

impl Unwinder {
    fn new(modules: &[Module]) -> Unwinder {
        let mut unwinder = UnwinderX86_64::new();
        for module in modules {
            let Some(sections) = Sections::of(module) else { continue };
            let start = module.bias.wrapping_add(sections.base_svma());
            let end = module.bias.wrapping_add(module.image.end());
            let name = module.image.name().to_string();
            // A file whose code is mapped in pieces still has one numbering.
            if start < end {
                unwinder.add_module(framehop::Module::new(name, start..end, start, sections));
            }
        }
        Unwinder { unwinder, cache: CacheX86_64::new() }
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
                if WANTED.contains(&name)
                    && let Ok(data) = section.uncompressed_data()
                {
                    let range = section.address()..section.address().saturating_add(section.size());
                    found.push(Section { name: name.as_bytes().to_vec(), range, data: Arc::from(&*data) });
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
        if registers.arch() == Arch::I386 {
            return by_frame_pointers(registers, at_start, word);
        }
        let unwinder = self.unwinder.get_or_insert_with(|| Unwinder::new(&self.modules));
        by_unwind_information(unwinder, registers, word)
    }
}

fn by_unwind_information(
    unwinder: &mut Unwinder,
    registers: &Registers,
    mut word: impl FnMut(u64, usize) -> Option<u64>,
) -> Vec<u64> {
    let pc = registers.pc().0;
    let frame = registers.get(Reg::RBP).unwrap_or(0);
    let start = UnwindRegsX86_64::new(pc, registers.sp().0, frame);
    let mut read = |address| word(address, 8).ok_or(());
    let mut frames = unwinder.unwinder.iter_frames(pc, start, &mut unwinder.cache, &mut read);
    let mut callers = Vec::new();
    while callers.len() < DEPTH {
        match frames.next() {
            Ok(Some(FrameAddress::ReturnAddress(address))) => callers.push(address.get()),
            Ok(Some(FrameAddress::InstructionPointer(_))) => {}
            Ok(None) | Err(_) => break,
        }
    }
    callers
}

fn by_frame_pointers(
    registers: &Registers,
    at_start: bool,
    mut word: impl FnMut(u64, usize) -> Option<u64>,
) -> Vec<u64> {
    let mut callers = Vec::new();
    if at_start {
        callers.extend(word(registers.sp().0, 4));
    }
    let mut frame = registers.get(Reg::RBP).unwrap_or(0);
    while callers.len() < DEPTH {
        let (Some(next), Some(address)) = (word(frame, 4), word(frame.wrapping_add(4), 4)) else { break };
        if address == 0 {
            break;
        }
        callers.push(address);
        if next <= frame {
            break;
        }
        frame = next;
    }
    callers
}

fn read_word(session: &mut Session, pid: Pid, address: u64, size: usize) -> Option<u64> {
    let mut bytes = [0; 8];
    let wanted = bytes.get_mut(..size)?;
    let read = session.read_memory(pid, Address(address), wanted).ok()?;
    (read == size).then(|| u64::from_le_bytes(bytes))
}
