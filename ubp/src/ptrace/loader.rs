//! The dynamic loader: libraries are reported before any of their code runs.
//!
//! From exec to the program's entry point every system call that maps code is looked at. Afterwards a breakpoint stands on the
//! function that the loader calls for debuggers whenever its list of libraries changes (`r_brk` of `struct r_debug`, link.h).

use libc::user_regs_struct;

use super::space::Internal;
use super::{Tracer, sys};
use crate::process::read_maps;
use crate::{Arch, Auxv, EventKind, Mapping, Pid, Result, Tid};

const PT_PHDR: u64 = 6;
const PT_DYNAMIC: u64 = 2;
const DT_DEBUG: u64 = 21;
/// No dynamic section has more entries than that.
const DYNAMIC_ENTRIES: u64 = 4096;
/// `RT_CONSISTENT`
const CONSISTENT: u64 = 0;

/// What is known of a process' loader.
#[derive(Clone, Debug, Default)]
pub(super) struct Loader {
    /// Where `struct r_debug` lies, once the loader has told.
    debug: Option<u64>,
    /// The code mappings of the last look.
    code: Vec<(u64, u64, u64, u64)>,
}

fn code_of(maps: &[Mapping]) -> Vec<(u64, u64, u64, u64)> {
    let code = maps.iter().filter(|mapping| mapping.execute && mapping.inode != 0);
    code.map(|mapping| (mapping.start.0, mapping.end.0, mapping.offset, mapping.inode)).collect()
}

fn width(arch: Arch) -> usize {
    match arch {
        Arch::X86_64 => 8,
        Arch::I386 => 4,
    }
}

impl Tracer {
    /// A new program stands at its first instruction.
    pub(super) fn watch_loading(&mut self, tid: Tid) -> Result<()> {
        let pid = self.thread(tid)?.pid;
        let maps = read_maps(pid)?;
        let debuggee = self.debuggee_mut(pid)?;
        debuggee.loader = Loader { debug: None, code: code_of(&maps) };
        let dynamic = debuggee.process.auxv.base().is_some();
        if let Some(entry) = debuggee.process.auxv.entry().filter(|_| dynamic) {
            self.insert_internal(pid, entry.0, Internal::Entry)?;
            self.thread_mut(tid)?.loading = true;
        }
        Ok(())
    }

    /// A process that runs already.
    pub(super) fn watch_loader(&mut self, pid: Pid) -> Result<()> {
        let maps = read_maps(pid)?;
        let debug = self.find_debug(pid);
        let debuggee = self.debuggee_mut(pid)?;
        debuggee.loader = Loader { debug, code: code_of(&maps) };
        let width = width(debuggee.process.arch);
        let space = self.space_of(pid)?;
        // r_version, r_map, r_brk, r_state: each as wide as a word.
        let function = debug.and_then(|debug| space.memory.read_word(debug.wrapping_add(2 * width as u64), width));
        match function {
            Some(function) if function != 0 => self.insert_internal(pid, function, Internal::Loader),
            _ => Ok(()),
        }
    }

    /// Whether a system call that just ended mapped code.
    pub(super) fn maps_code(&self, registers: &user_regs_struct) -> bool {
        // mmap, mprotect, pkey_mprotect; mmap, mmap2, mprotect, pkey_mprotect.
        let maps = match registers.cs {
            0x23 => matches!(registers.orig_rax, 90 | 192 | 125 | 380),
            _ => matches!(registers.orig_rax, 9 | 10 | 329),
        };
        let failed = registers.rax as i64 > -4096 && (registers.rax as i64) < 0;
        maps && !failed && registers.rdx & libc::PROT_EXEC as u64 != 0
    }

    /// The loader mapped code, or made what is mapped code.
    pub(super) fn on_mapped(&mut self, tid: Tid) -> Result<()> {
        let pid = self.thread(tid)?.pid;
        let maps = read_maps(pid)?;
        let code = code_of(&maps);
        let debuggee = self.debuggee_mut(pid)?;
        if debuggee.loader.code == code {
            return self.go_on(tid);
        }
        debuggee.loader.code = code;
        self.hold(tid, EventKind::Loaded)
    }

    /// A thread is at a breakpoint of ours. Says whether code was mapped or unmapped.
    pub(super) fn on_internal(&mut self, tid: Tid, internal: Internal) -> Result<bool> {
        let pid = self.thread(tid)?.pid;
        match internal {
            Internal::Entry => {
                self.thread_mut(tid)?.loading = false;
                let entry = sys::pc(tid)?;
                self.remove_internal(pid, entry)?;
                self.thread_mut(tid)?.wanted += 1;
                let result = self.watch_loader(pid);
                if let Ok(thread) = self.thread_mut(tid) {
                    thread.wanted = thread.wanted.saturating_sub(1);
                }
                result.map(|()| false)
            }
            Internal::Loader => {
                let debuggee = self.debuggee(pid)?;
                let width = width(debuggee.process.arch);
                let state = debuggee.loader.debug.and_then(|debug| {
                    self.space_of(pid).ok()?.memory.read_word(debug.wrapping_add(3 * width as u64), 4)
                });
                if state != Some(CONSISTENT) {
                    return Ok(false);
                }
                let maps = read_maps(pid)?;
                let code = code_of(&maps);
                let debuggee = self.debuggee_mut(pid)?;
                if debuggee.loader.code == code {
                    return Ok(false);
                }
                debuggee.loader.code = code;
                self.space_of_mut(pid)?.drop_unmapped(&maps);
                Ok(true)
            }
        }
    }

    /// Where the loader keeps `struct r_debug`, by the program's dynamic section.
    fn find_debug(&self, pid: Pid) -> Option<u64> {
        let debuggee = self.debuggee(pid).ok()?;
        let auxv: &Auxv = &debuggee.process.auxv;
        let width = width(debuggee.process.arch);
        let memory = &self.space_of(pid).ok()?.memory;
        let (headers, size, count) = auxv.program_headers()?;
        // p_vaddr stands behind p_type, p_flags and p_offset, or behind p_type and p_offset.
        let vaddr_at = 2 * width as u64;
        let mut bias = 0;
        let mut dynamic = None;
        for at in (0..count.min(256)).map(|number| headers.0.wrapping_add(number.wrapping_mul(size))) {
            let kind = memory.read_word(at, 4)?;
            let vaddr = memory.read_word(at.wrapping_add(vaddr_at), width)?;
            match kind {
                PT_PHDR => bias = headers.0.wrapping_sub(vaddr),
                PT_DYNAMIC => dynamic = Some(vaddr),
                _ => {}
            }
        }
        let dynamic = dynamic?.wrapping_add(bias);
        for at in (0..DYNAMIC_ENTRIES).map(|number| dynamic.wrapping_add(number * 2 * width as u64)) {
            let tag = memory.read_word(at, width)?;
            if tag == 0 {
                return None;
            }
            if tag == DT_DEBUG {
                return memory.read_word(at.wrapping_add(width as u64), width).filter(|&debug| debug != 0);
            }
        }
        None
    }
}
