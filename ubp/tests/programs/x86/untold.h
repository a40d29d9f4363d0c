// Debug exceptions of which the processor does not tell the cause, as a busy virtual machine has them. A process may send itself such a signal.
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

__attribute__((noinline, noclone)) static void untold_trap(void) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = SIGTRAP;
    info.si_code = TRAP_BRKPT;
    long result, process = getpid(), thread = syscall(SYS_gettid);
#if defined(__x86_64__)
    // The signal comes behind the system call.
    extern char behind_untold[];
    info.si_addr = behind_untold;
    register siginfo_t *last __asm__("r10") = &info;
    __asm__ volatile("syscall\n\t.globl behind_untold\nbehind_untold:"
                     : "=a"(result) : "0"((long)SYS_rt_tgsigqueueinfo), "D"(process), "S"(thread), "d"((long)SIGTRAP), "r"(last)
                     : "rcx", "r11", "memory");
#else
    result = syscall(SYS_rt_tgsigqueueinfo, process, thread, SIGTRAP, &info);
#endif
    if (result) abort();
}
