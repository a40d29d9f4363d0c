//! The thread whose instruction is emulated: functions of the caller.

use core::ffi::c_void;

use stepping::{Fault, Memory, Outcome};

use crate::status::Status;

/// A thread at a breakpoint, with functions of the caller that read and change it. Each gets `context`.
#[repr(C)]
pub struct Thread {
    /// Handed to the functions.
    pub context: *mut c_void,
    /// The value of a register, by its number. The flags are a register too.
    pub get: Option<unsafe extern "C" fn(context: *mut c_void, number: u8) -> u64>,
    /// Sets a register, by its number.
    pub set: Option<unsafe extern "C" fn(context: *mut c_void, number: u8, value: u64)>,
    /// Fills the buffer from the address on. Returns the number of bytes that can be read.
    pub read: Option<unsafe extern "C" fn(context: *mut c_void, address: u64, buffer: *mut u8, size: usize) -> usize>,
    /// Writes the bytes at the address. Returns the number of bytes that can be written, and writes none if not all can.
    pub write: Option<unsafe extern "C" fn(context: *mut c_void, address: u64, bytes: *const u8, size: usize) -> usize>,
    /// Kind of the indirect branch that led to the instruction, 0 to 3 (BTYPE of A64). The emulation changes it.
    pub branch_type: u8,
    /// 1 where the instruction lies in a guarded page (BTI of A64).
    pub is_guarded: u8,
    /// 1 where the thread has a shadow stack (x86) or a guarded control stack (A64), which `write` writes.
    pub has_shadow_stack: u8,
    /// Bits of a linear address of x86: 48 or 57; 0 is 48.
    pub address_bits: u8,
    /// 1 where APX is enabled (x86).
    pub has_apx: u8,
    /// The address of a fault (NTRACE_STATUS_FAULT): where memory cannot be accessed, or the branch target that is none.
    pub fault_address: u64,
}

/// What an emulation left to do.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Emulation {
    /// The thread continues at its new pc.
    Done = 0,
    /// As NTRACE_EMULATION_DONE, and the thread gets the trap of a single step first.
    SingleStep = 1,
    /// The instruction is a breakpoint of the program's own: the thread gets its signal.
    Breakpoint = 2,
    /// The thread executes the slot instead. No register has changed.
    InSlot = 3,
}

/// The functions of a thread, all of which are there.
pub(crate) struct Calls {
    pub(crate) context: *mut c_void,
    pub(crate) get: unsafe extern "C" fn(*mut c_void, u8) -> u64,
    pub(crate) set: unsafe extern "C" fn(*mut c_void, u8, u64),
    read: unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize) -> usize,
    write: unsafe extern "C" fn(*mut c_void, u64, *const u8, usize) -> usize,
}

impl Thread {
    pub(crate) fn calls(&self) -> Option<Calls> {
        let (get, set, read, write) = (self.get?, self.set?, self.read?, self.write?);
        Some(Calls { context: self.context, get, set, read, write })
    }

    /// Notes how an emulation ended.
    pub(crate) fn end(&mut self, outcome: Result<Outcome, Fault>) -> i32 {
        match outcome {
            Ok(Outcome::Done) => Emulation::Done as i32,
            Ok(Outcome::SingleStep) => Emulation::SingleStep as i32,
            Ok(Outcome::Breakpoint) => Emulation::Breakpoint as i32,
            Ok(_) => Emulation::InSlot as i32,
            Err(fault) => {
                self.fault_address = match fault {
                    Fault::Page(address)
                    | Fault::NonCanonical(address)
                    | Fault::Alignment(address)
                    | Fault::ControlProtection(address)
                    | Fault::LandingPad(address) => address,
                    Fault::NullSelector(selector) => selector.into(),
                    _ => 0,
                };
                Status::Fault as i32
            }
        }
    }
}

impl Memory for &Calls {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        // SAFETY: the caller's function writes at most the size that it gets.
        let count = unsafe { (self.read)(self.context, address, buffer.as_mut_ptr(), buffer.len()) };
        if count < buffer.len() { Err(Fault::Page(address.wrapping_add(count as u64))) } else { Ok(()) }
    }
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        // SAFETY: the caller's function reads at most the size that it gets.
        let count = unsafe { (self.write)(self.context, address, bytes.as_ptr(), bytes.len()) };
        if count < bytes.len() { Err(Fault::Page(address.wrapping_add(count as u64))) } else { Ok(()) }
    }
}
