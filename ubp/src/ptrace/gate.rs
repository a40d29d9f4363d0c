//! Code in the debuggee that enters the kernel, and the numbers of system calls there.

use super::Tracer;
use crate::process::read_maps;
use crate::{Arch, Error, Pid, Result};

/// `syscall; int3…`
const GATE_64: [u8; 8] = [0x0f, 0x05, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc];
/// `int $0x80; int3…`
const GATE_32: [u8; 8] = [0xcd, 0x80, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc];
/// No more of one mapping is searched.
const SEARCH: usize = 4 << 20;

/// What goes into an arena's header.
pub(super) fn gate(arch: Arch) -> [u8; 8] {
    match arch {
        Arch::X86_64 => GATE_64,
        Arch::I386 => GATE_32,
    }
}

/// Numbers of system calls that are made in debuggees (asm/unistd_64.h, asm/unistd_32.h).
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls {
    /// `mmap`, or `mmap2`.
    pub(super) mmap: u64,
    pub(super) munmap: u64,
}

pub(super) fn calls(arch: Arch) -> Calls {
    match arch {
        Arch::X86_64 => Calls { mmap: 9, munmap: 11 },
        Arch::I386 => Calls { mmap: 192, munmap: 91 },
    }
}

impl Tracer {
    /// The address of an instruction that enters the kernel.
    pub(super) fn gate_of(&self, pid: Pid) -> Result<u64> {
        let space = self.space_of(pid)?;
        if let Some(storage) = space.storages.first() {
            return Ok(storage.arena.gate());
        }
        let [first, second, ..] = gate(space.arch);
        let mut maps = read_maps(pid)?;
        maps.retain(|mapping| mapping.execute && mapping.read);
        // The kernel's own page always has one.
        maps.sort_by_key(|mapping| mapping.path.as_deref().is_none_or(|path| path.as_os_str() != "[vdso]"));
        for mapping in maps {
            let mut code = vec![0; ((mapping.end - mapping.start) as usize).min(SEARCH)];
            let read = space.memory.read(mapping.start.0, &mut code);
            code.truncate(read);
            if let Some(at) = code.windows(2).position(|pair| pair == [first, second]) {
                return Ok(mapping.start.0 + at as u64);
            }
        }
        Err(Error::NoRoom { pid, near: crate::Address(0) })
    }
}
