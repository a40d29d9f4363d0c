//! `insn` and `stepping` for C: what an instruction is, and how a thread passes a breakpoint on it.
//!
//! The library needs no C library, allocates nothing, keeps no state and never panics, so that a kernel or firmware can link it. Every
//! function may be called from any thread at any time. `include/ntrace.h` is generated from this crate.
#![no_std]

mod a64;
mod flow;
mod slot;
mod status;
mod thread;
mod x86;

use core::panic::PanicInfo;

/// No function of the library reaches it: tests/tests/c_library.rs proves that by the linked library.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
