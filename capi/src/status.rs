//! What functions return, and texts for callers.

use core::ffi::c_char;

/// What the functions return. Values below 0 are errors.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The function did what it says.
    Ok = 0,
    /// The bytes end before the instruction does.
    Truncated = -1,
    /// The bytes are no instruction.
    Invalid = -2,
    /// No breakpoint can stand at the instruction (struct ntrace_plan has the reason), or the slot cannot be where it is asked for.
    Refused = -3,
    /// The instruction faults: struct ntrace_thread has the address. No register has changed.
    Fault = -4,
    /// A pointer is NULL, or a number is out of range.
    Argument = -5,
}

/// Copies as much of a text as there is room for, with a NUL at its end. Returns the text's length without the NUL.
///
/// # Safety
/// `buffer` is null or points to `capacity` bytes.
pub(crate) unsafe fn copy_text(text: &str, buffer: *mut c_char, capacity: usize) -> usize {
    if !buffer.is_null() && capacity > 0 {
        let count = text.len().min(capacity - 1);
        // SAFETY: the buffer has room for `count` bytes and the NUL, by the caller's promise, and does not overlap a constant.
        unsafe {
            core::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast::<u8>(), count);
            *buffer.add(count) = 0;
        }
    }
    text.len()
}
