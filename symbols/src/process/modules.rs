//! The modules of one process, as they are mapped now.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use ubp::{Address, Mapping, Pid, Registers, Session, StackCopy, Tid};

use super::frame::Frame;
use super::images::Images;
use super::module::Module;
use super::place::Place;
use super::stack_frame::{Caller, StackFrame};
use crate::elf::Image;
use crate::unwind::{Raw, Unwinder};

/// The number of callers of the innermost frame that are found for what they gave: a value may have been handed on.
const FOLLOWED: usize = 4;

/// The modules of one process with their files. Call [`Modules::update`] after each [`EventKind::Loaded`](ubp::EventKind::Loaded) and
/// [`EventKind::Unloaded`](ubp::EventKind::Unloaded); a program that executes another one needs new `Modules`.
#[derive(Clone, Debug)]
pub struct Modules {
    pid: Pid,
    /// In the order of the memory map.
    mapped: Vec<Module>,
    gone: Vec<Module>,
    /// The unwinder for the current modules. It is made when it is first needed.
    unwinder: Option<Unwinder>,
}

impl Modules {
    /// Returns the modules of a process whose memory map has not been read yet: none.
    pub fn new(pid: Pid) -> Modules {
        Modules { pid, mapped: Vec::new(), gone: Vec::new(), unwinder: None }
    }

    /// Returns the same modules for a forked child.
    pub fn fork(&self, child: Pid) -> Modules {
        Modules { pid: child, mapped: self.mapped.clone(), gone: self.gone.clone(), unwinder: None }
    }

    /// Reads the memory map again and returns the new modules. A file that changed is a new module.
    ///
    /// # Errors
    /// The memory map cannot be read. A file that cannot be used is no error; [`Images::take_notes`] tells of it.
    pub fn update(&mut self, session: &Session, images: &mut Images) -> ubp::Result<Vec<Module>> {
        let Some(process) = session.process(self.pid) else { return Ok(Vec::new()) };
        let maps = process.maps()?;
        let mut modules: Vec<Module> = Vec::new();
        let mut known: HashMap<_, Option<Rc<Image>>> = HashMap::new();
        for map in maps.iter().filter(|map| map.execute) {
            let look = || images.of(session, self.pid, map, &maps);
            let image = known.entry((map.device, map.inode, &map.path)).or_insert_with(look).clone();
            let Some(module) = image.and_then(|image| module_of(image, map)) else { continue };
            match modules.iter_mut().find(|other| other.is_same(&module)) {
                Some(other) => other.code.extend(module.code),
                None => modules.push(module),
            }
        }
        let is_new = |module: &&Module| !self.mapped.iter().any(|old| old.is_same(module));
        let new: Vec<Module> = modules.iter().filter(is_new).cloned().collect();
        let is_gone = |old: &&Module| !modules.iter().any(|module| module.is_same(old));
        let gone: Vec<Module> = self.mapped.iter().filter(is_gone).cloned().collect();
        if !new.is_empty() || !gone.is_empty() {
            self.unwinder = None;
        }
        self.gone.extend(gone);
        self.mapped = modules;
        Ok(new)
    }

    /// The process.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// The modules, in the order of the memory map.
    pub fn iter(&self) -> std::slice::Iter<'_, Module> {
        self.mapped.iter()
    }

    /// Whether no module is known.
    pub fn is_empty(&self) -> bool {
        self.mapped.is_empty()
    }

    /// The modules that were unmapped, or whose file changed, since the last [`Modules::take_gone`].
    pub fn gone(&self) -> &[Module] {
        &self.gone
    }

    /// Returns the modules that are gone, and forgets them.
    pub fn take_gone(&mut self) -> Vec<Module> {
        std::mem::take(&mut self.gone)
    }

    /// The module that contains an address in memory.
    pub fn at(&self, address: u64) -> Option<&Module> {
        self.mapped.iter().find(|module| module.contains(address))
    }

    /// Describes an address in memory.
    pub fn describe(&self, address: u64) -> Place {
        describe(self.at(address), address, address)
    }

    /// Describes a return address. The call instruction before it determines the function and the line.
    pub fn describe_caller(&self, return_address: u64) -> Place {
        let call = return_address.wrapping_sub(1);
        describe(self.at(call), return_address, call)
    }

    /// Returns the return addresses of a held thread's callers, the innermost first, at most 128.
    ///
    /// `at_start` states that the thread is at a function's first instruction, whose frame is not set up yet.
    pub fn callers(&mut self, session: &Session, registers: &Registers, at_start: bool) -> Vec<u64> {
        let unwinder = self.unwinder.get_or_insert_with(|| Unwinder::new(&self.mapped));
        unwinder.callers(session, self.pid, &self.mapped, registers, at_start)
    }

    /// Returns the return addresses of the callers of a thread at a recorded hit, the innermost first, at most 128, and whether the copy of the
    /// stack ended before they did. `at_start`: see [`Modules::callers`].
    pub fn callers_in(&mut self, stack: &StackCopy, at_start: bool) -> (Vec<u64>, bool) {
        let unwinder = self.unwinder.get_or_insert_with(|| Unwinder::new(&self.mapped));
        unwinder.callers_in(stack, &self.mapped, at_start)
    }

    /// Returns the frames of a held thread's stack, the innermost first.
    ///
    /// # Errors
    /// The thread is not held, or gone.
    pub fn backtrace(&mut self, session: &Session, tid: Tid) -> ubp::Result<Vec<Frame>> {
        let registers = session.registers(tid)?;
        let pc = registers.pc();
        let place = self.describe(pc.0);
        let at_start = place.symbol.is_some() && place.offset == 0;
        let callers = self.callers(session, &registers, at_start);
        let caller = |address| Frame { address: Address(address), place: self.describe_caller(address) };
        Ok([Frame { address: pc, place }].into_iter().chain(callers.into_iter().map(caller)).collect())
    }

    /// Returns the frames of a held thread's stack with their registers, the innermost first, at most 129. They are the frames of
    /// [`Modules::backtrace`].
    ///
    /// # Errors
    /// The thread is not held, or gone.
    pub fn stack(&mut self, session: &Session, tid: Tid) -> ubp::Result<Vec<StackFrame>> {
        let registers = session.registers(tid)?;
        Ok(self.frames(session, &registers, usize::MAX))
    }

    /// Returns the innermost frame of a thread with these registers, which is quicker than [`Modules::stack`].
    pub fn innermost(&mut self, session: &Session, registers: &Registers) -> Option<StackFrame> {
        self.frames(session, registers, FOLLOWED).into_iter().next()
    }

    fn frames(&mut self, session: &Session, registers: &Registers, depth: usize) -> Vec<StackFrame> {
        let place = self.describe(registers.pc().0);
        let at_start = place.symbol.is_some() && place.offset == 0;
        let unwinder = self.unwinder.get_or_insert_with(|| Unwinder::new(&self.mapped));
        let raw = unwinder.frames(session, self.pid, &self.mapped, registers, at_start, depth);
        let mut caller: Option<Rc<Caller>> = None;
        let mut frames = Vec::new();
        for (number, raw) in raw.iter().enumerate().rev() {
            let module = self.at(raw.inside);
            let place = describe(module, raw.address, raw.inside);
            frames.push(StackFrame::new(raw, place, number == 0, caller.clone()));
            let Raw { address, inside, registers, cfa } = *raw;
            caller = Some(Rc::new(Caller { address, inside, module: module.cloned(), registers, cfa, caller }));
        }
        frames.reverse();
        frames
    }
}

fn describe(module: Option<&Module>, address: u64, inside: u64) -> Place {
    let unknown = || Place { offset: address, ..Place::default() };
    module.map_or_else(unknown, |module| module.describe(address, inside))
}

fn module_of(image: Rc<Image>, map: &Mapping) -> Option<Module> {
    let bias = bias(&image, map)?;
    Some(Module { image, bias, code: vec![range_of(map)] })
}

fn range_of(map: &Mapping) -> Range<u64> {
    map.start.0..map.end.0
}

fn bias(image: &Image, map: &Mapping) -> Option<u64> {
    if map.path.as_deref().is_some_and(|path| path == Path::new("[vdso]")) {
        let first = image.segments().first()?;
        return Some(map.start.0.wrapping_sub(first.address.wrapping_sub(first.file.start)));
    }
    image.bias(map.start.0, map.offset)
}
