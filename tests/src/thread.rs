//! Threads that the C library knows nothing of.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Acquire;

/// The flags for `clone`: the thread shares everything with its maker, and the kernel writes its number, and clears it when the thread ends.
pub const FLAGS: libc::c_int = libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM
    | libc::CLONE_CHILD_CLEARTID
    | libc::CLONE_PARENT_SETTID;

/// Makes a thread, with this number unless it is 0, and waits for its end; returns its number, or none if another thread has it.
///
/// # Panics
/// Where it cannot be made.
pub fn make(number: i32, thread: extern "C" fn() -> !) -> Option<i32> {
    let mut stack = vec![0u128; 4096];
    let lives = AtomicU32::new(0);
    let place = lives.as_ptr() as u64;
    // SAFETY: zeros are values of it.
    let mut order: libc::clone_args = unsafe { std::mem::zeroed() };
    (order.flags, order.child_tid, order.parent_tid) = (FLAGS as u64, place, place);
    (order.stack, order.stack_size) = (stack.as_mut_ptr() as u64, size_of_val(&stack[..]) as u64);
    if number != 0 {
        (order.set_tid, order.set_tid_size) = (&raw const number as u64, 1);
    }
    let made: i64;
    // SAFETY: the thread has the stack until it has ended, and needs nothing that the C library would give it.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            "syscall", "test rax, rax", "jnz 2f", "call {thread}", "2:", thread = in(reg) thread, in("rdi") &order,
            in("rsi") size_of_val(&order), inlateout("rax") libc::SYS_clone3 => made, out("rcx") _, out("r11") _,
        );
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            "svc #0", "cbnz x0, 2f", "blr {thread}", "2:", thread = in(reg) thread, inlateout("x0") &order => made,
            in("x1") size_of_val(&order), in("x8") libc::SYS_clone3, out("lr") _,
        );
    }
    if made == -i64::from(libc::EEXIST) {
        return None;
    }
    assert!(made > 0, "{made}");
    while lives.load(Acquire) != 0 {
        std::hint::spin_loop();
    }
    Some(made as i32)
}
