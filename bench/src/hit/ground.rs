//! Memory for functions, mirror, trampolines and what they write, in this process.

use std::cell::Cell;
use std::ptr::null_mut;

use anyhow::{Context, Result, bail};
use insn::x86::Mode;
use trampoline::x86::{Displacement, Place, Probe, Site, jump, mirror_jump};

/// The distance of the mirror: bytes that are all 06, about 101 MB.
const DISTANCE: i32 = 0x0606_0606;
/// Bytes of the mapping, of which most are never touched.
const SIZE: usize = 0x800_0000;
/// Offset of the data from the functions.
const DATA: u64 = 0x10_0000;
/// Offset of the trampolines from the functions.
const TRAMPOLINES: u64 = 0x20_0000;
/// Distance of two functions, and of two trampolines.
const STEP: u64 = 0x1000;
/// Offset of a ring's count of slots that the reader has done with.
const DONE: u64 = 64;

/// The mapping.
pub(crate) struct Ground {
    start: u64,
    mode: Mode,
    functions: Cell<u64>,
}

/// A function in the mapping.
pub(crate) struct Function(extern "C" fn(u64, u64, u64) -> u64);

impl Function {
    pub(crate) fn call(&self, first: u64) -> u64 {
        (self.0)(first, 2, 3)
    }
}

impl Ground {
    pub(crate) fn new(mode: Mode) -> Result<Ground> {
        let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { libc::mmap(null_mut(), SIZE, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            bail!("no memory that can be executed: {}", std::io::Error::last_os_error());
        }
        Ok(Ground { start: start as u64, mode, functions: Cell::new(0) })
    }

    /// Address of the data.
    pub(crate) fn data(&self) -> u64 {
        self.start + DATA
    }

    fn write(&self, address: u64, bytes: &[u8]) {
        let offset = address - self.start;
        assert!(offset as usize + bytes.len() <= SIZE, "{address:#x} is in the mapping");
        // SAFETY: the bytes lie in the mapping, which nobody else reads or writes, and of which no thread executes these bytes yet.
        unsafe { (address as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
    }

    /// Gives back all slots of the ring at `control`.
    pub(crate) fn release(&self, control: u64) {
        assert!(control - self.start < SIZE as u64 - 2 * DONE, "the ring is in the mapping");
        // SAFETY: two aligned words of the mapping, which no other thread uses.
        unsafe {
            let taken = (control as *const u64).read_volatile();
            ((control + DONE) as *mut u64).write_volatile(taken);
        }
    }

    /// A function with this code, which keeps to the System V ABI.
    pub(crate) fn function(&self, code: &[u8]) -> Result<Function> {
        let at = self.next()?;
        self.write(at, code);
        // SAFETY: the callers' code takes and returns integers in registers, and returns.
        Ok(Function(unsafe { std::mem::transmute::<u64, extern "C" fn(u64, u64, u64) -> u64>(at) }))
    }

    /// The same with a jump at its entry.
    pub(crate) fn probed(&self, code: &[u8], probe: &Probe<'_>) -> Result<Function> {
        let function = self.function(code)?;
        let pc = self.start + STEP * (self.functions.get() - 1);
        let displacement = Displacement::new(DISTANCE).context("06 always traps")?;
        let site = Site { pc, code, mode: self.mode, shadow_stack: false, keep_dead: false };
        let (mut bytes, mut places) = ([0; 2048], [Place::EMPTY; 256]);
        let trampoline = site.assemble(&[*probe], pc + TRAMPOLINES, &mut bytes, &mut places)?;
        self.write(trampoline.at(), bytes.get(..trampoline.len()).unwrap_or_default());
        let mirror = displacement.mirror(pc);
        self.write(mirror, &mirror_jump(mirror, trampoline.at())?);
        self.write(pc, &jump(displacement));
        Ok(function)
    }

    fn next(&self) -> Result<u64> {
        let number = self.functions.get();
        self.functions.set(number + 1);
        if STEP * number >= DATA {
            bail!("no room for another function");
        }
        Ok(self.start + STEP * number)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own; functions are not called after it.
        unsafe { libc::munmap(self.start as *mut libc::c_void, SIZE) };
    }
}
