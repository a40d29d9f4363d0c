//! Signal handlers that see the interrupted address.

/// The signal, what it tells, and the thread that it interrupts, which goes on as the handler leaves it (sigaction(2), SA_SIGINFO).
pub type Handler = extern "C" fn(libc::c_int, &libc::siginfo_t, &mut libc::ucontext_t);

/// Has the handler called for the signal, with such flags beside SA_SIGINFO.
pub fn handle(signal: libc::c_int, flags: libc::c_int, handler: Handler) {
    // SAFETY: all zero is a valid value of this plain C struct, and the handler has the type that SA_SIGINFO asks for.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | flags;
        assert_eq!(libc::sigaction(signal, &raw const action, std::ptr::null_mut()), 0, "signal {signal}");
    }
}

/// Where the thread is.
#[cfg(target_arch = "x86_64")]
#[must_use]
pub fn pc(context: &libc::ucontext_t) -> u64 {
    context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64
}

/// Where the thread is.
#[cfg(target_arch = "aarch64")]
#[must_use]
pub fn pc(context: &libc::ucontext_t) -> u64 {
    context.uc_mcontext.pc
}
