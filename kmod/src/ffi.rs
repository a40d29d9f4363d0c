// SPDX-License-Identifier: GPL-2.0

//! What Rust calls in C and the kernel's bindings lack: the module's own functions (shim.h) and functions that the kernel exports.

use kernel::bindings::{mutex, wait_queue_head};
use kernel::error::from_err_ptr;
use kernel::ffi::{c_int, c_long, c_ulong, c_void};
use kernel::prelude::*;

pub(crate) use fastpath::Mm;
use fastpath::Registers;

/// Structures of C that Rust knows by their address alone.
macro_rules! opaque {
    ($($(#[$about:meta])* $name:ident)*) => {
        $($(#[$about])*
        #[repr(C)]
        pub(crate) struct $name([u8; 0]);)*
    };
}

opaque! {
    /// `struct mem_cgroup`: who pays for memory.
    Account
    /// `struct cred`.
    Cred
    /// `struct file`.
    File
    /// `struct ntrace_follow` (follow.c): a rule of a session.
    Follow
    /// `struct inode`.
    Inode
    /// `struct ntrace_job` (remote.c): a job in the background.
    Job
    /// `struct ntrace_life` (lifecycle.c): a process that a session traces.
    Life
    /// `struct pid_namespace`.
    Namespace
    /// `struct poll_table_struct`.
    PollTable
    /// `struct seq_file`.
    SeqFile
    /// `struct task_struct`.
    Task
    /// `struct vm_area_struct`.
    Vma
    /// `struct ntrace_watch` (watch.c): a watchpoint.
    Watch
}

/// Turns a C function's return value, 0 or a negative error number, into a result. The kernel's `to_result` is no generic function:
/// its symbol depends on the compiler that built the kernel.
pub(crate) fn result(value: c_int) -> Result {
    from_err_ptr(value as isize as *mut c_void).map(drop)
}

// device/device.c
extern "C" {
    pub(crate) fn ntrace_device_add() -> c_int;
    pub(crate) fn ntrace_device_remove();
    pub(crate) fn ntrace_file_private(file: *const File) -> *mut c_void;
    pub(crate) fn ntrace_file_cred(file: *const File) -> *const Cred;
    pub(crate) fn ntrace_cred_put(cred: *const Cred);
    pub(crate) fn ntrace_file_open(file: *mut File, session: *mut c_void);
    pub(crate) fn ntrace_file_blocks(file: *const File) -> bool;
    pub(crate) fn ntrace_poll_wait(file: *mut File, queue: *mut wait_queue_head, table: *mut PollTable);
    pub(crate) fn ntrace_wait_init(queue: *mut wait_queue_head);
    pub(crate) fn ntrace_wait(
        queue: *mut wait_queue_head,
        count: *const c_ulong,
        least: c_ulong,
        most: c_ulong,
    ) -> c_int;
    pub(crate) fn ntrace_wait_killable(queue: *mut wait_queue_head, count: *const c_ulong, least: c_ulong);
    pub(crate) fn ntrace_wait_change(
        queue: *mut wait_queue_head,
        count: *const c_ulong,
        known: c_ulong,
        moments: c_int,
    );
    pub(crate) fn ntrace_wait_below(
        queue: *mut wait_queue_head,
        count: *const c_ulong,
        most: c_ulong,
        other: *const c_ulong,
    );
    pub(crate) fn ntrace_wait_none(queue: *mut wait_queue_head, count: *const c_ulong, seconds: c_int);
    pub(crate) fn ntrace_is_killed() -> bool;
    pub(crate) fn ntrace_ring_size(vma: *const Vma) -> c_ulong;
    pub(crate) fn ntrace_ring_alloc(size: c_ulong) -> *mut c_void;
    pub(crate) fn ntrace_ring_map(vma: *mut Vma, ring: *mut c_void) -> c_int;
}

// mm/remote.c
extern "C" {
    pub(crate) fn ntrace_proc_mount() -> c_int;
    pub(crate) fn ntrace_proc_unmount();
    pub(crate) fn ntrace_namespace_get() -> *mut Namespace;
    pub(crate) fn ntrace_memory_open(cred: *const Cred, namespace: *mut Namespace, process: c_int) -> *mut File;
    pub(crate) fn ntrace_memory_read(
        mm: *const Mm,
        at: c_ulong,
        bytes: *mut c_void,
        size: c_ulong,
        locked: bool,
    ) -> c_long;
    pub(crate) fn ntrace_memory_read_kept(mm: *const Mm, at: c_ulong, bytes: *mut c_void, size: c_ulong) -> c_long;
    pub(crate) fn ntrace_memory_write(mm: *const Mm, at: c_ulong, bytes: *const c_void, size: c_ulong) -> c_long;
    pub(crate) fn ntrace_memory_patch(mm: *const Mm, patches: *mut c_void, count: c_ulong, size: c_ulong) -> c_long;
    pub(crate) fn ntrace_memory_mappings(mm: *const Mm, words: *mut u64, most: c_ulong) -> c_long;
    pub(crate) fn ntrace_memory_growth(mm: *const Mm, heap: *mut u64, brk: *mut u64, stack: *mut u64);
    pub(crate) fn ntrace_memory_map(mm: *const Mm, at: c_ulong, size: c_ulong, protection: c_ulong) -> c_long;
    pub(crate) fn ntrace_memory_unmap(mm: *const Mm, at: c_ulong, size: c_ulong) -> c_long;
    pub(crate) fn ntrace_mm_grab(mm: *const Mm);
    pub(crate) fn ntrace_mm_drop(mm: *const Mm);
    pub(crate) fn ntrace_mm_get(mm: *const Mm) -> bool;
    pub(crate) fn ntrace_mm_put(mm: *const Mm);
    pub(crate) fn ntrace_work_run(function: unsafe extern "C" fn(*mut c_void), data: *mut c_void);
    pub(crate) fn ntrace_job_new() -> *mut Job;
    pub(crate) fn ntrace_job_queue(job: *mut Job, function: unsafe extern "C" fn(*mut c_void), data: *mut c_void);
    pub(crate) fn ntrace_job_free(job: *mut Job);
    pub(crate) fn ntrace_sort_counts(counts: *mut u64, count: c_ulong);
    pub(crate) fn get_random_u64() -> u64;
    pub(crate) fn ntrace_jobs_init() -> c_int;
    pub(crate) fn ntrace_jobs_exit();
}

// mm/lock.c
extern "C" {
    pub(crate) fn ntrace_lock_init(lock: *mut mutex);
    pub(crate) fn ntrace_outer_lock_init(lock: *mut mutex);
    pub(crate) fn ntrace_lock(lock: *mut mutex) -> bool;
    pub(crate) fn ntrace_try_lock(lock: *mut mutex) -> bool;
    pub(crate) fn ntrace_unlock(lock: *mut mutex);
}

// mm/account.c
extern "C" {
    pub(crate) fn ntrace_account_get() -> *mut Account;
    pub(crate) fn ntrace_account_put(account: *mut Account);
    pub(crate) fn ntrace_account_use(account: *mut Account) -> *mut Account;
}

// mm/current.c
extern "C" {
    pub(crate) fn ntrace_user_write(to: c_ulong, from: *const c_void, size: c_ulong) -> c_ulong;
    pub(crate) fn ntrace_memory_of_this() -> *const Mm;
    pub(crate) fn ntrace_user_copy(to: *mut c_void, from: c_ulong, size: c_ulong) -> c_ulong;
    pub(crate) fn ntrace_atomic_begin();
    pub(crate) fn ntrace_atomic_end();
}

// thread/threads.c
extern "C" {
    pub(crate) fn ntrace_thread_number(thread: *mut Task, namespace: *mut Namespace) -> c_int;
    pub(crate) fn ntrace_thread_is_leader() -> bool;
    pub(crate) fn ntrace_thread_is_signalled() -> bool;
    pub(crate) fn ntrace_thread_notify(mm: *const Mm, namespace: *mut Namespace, number: c_int) -> bool;
    pub(crate) fn ntrace_thread_notify_this();
    pub(crate) fn ntrace_threads_list(
        mm: *const Mm,
        namespace: *mut Namespace,
        numbers: *mut u64,
        most: c_ulong,
    ) -> c_ulong;
    pub(crate) fn ntrace_threads_visit(
        mm: *const Mm,
        look: unsafe extern "C" fn(*mut Registers, *mut c_void, bool),
        data: *mut c_void,
    ) -> bool;
    pub(crate) fn ntrace_threads_tell_syscalls(mm: *const Mm);
    pub(crate) fn ntrace_registers_get(registers: *mut c_void, size: usize) -> usize;
}

// report/syscalls.c
extern "C" {
    pub(crate) fn ntrace_syscalls_supported() -> bool;
    pub(crate) fn ntrace_syscalls_this();
    pub(crate) fn ntrace_syscalls_of(thread: *mut Task);
}

// report/signals.c
extern "C" {
    pub(crate) fn ntrace_signal_next(told: *mut u64, info: *mut c_void) -> c_int;
    pub(crate) fn ntrace_signal_drop(number: c_int);
    pub(crate) fn ntrace_signal_send(number: c_int);
}

// report/watch.c
extern "C" {
    pub(crate) fn ntrace_watch_new(address: u64, length: u64, access: u64) -> *mut Watch;
    pub(crate) fn ntrace_watch_all(watch: *mut Watch, mm: *const Mm) -> c_int;
    pub(crate) fn ntrace_watch_this(watch: *mut Watch) -> c_int;
    pub(crate) fn ntrace_watch_end_this(watch: *mut Watch);
    pub(crate) fn ntrace_watch_take(watch: *mut Watch) -> bool;
    pub(crate) fn ntrace_watch_free(watch: *mut Watch);
    pub(crate) fn ntrace_watch_supported() -> bool;
}

// process/lifecycle.c
extern "C" {
    pub(crate) fn ntrace_table_lock();
    pub(crate) fn ntrace_table_unlock();
    pub(crate) fn ntrace_life_add(
        namespace: *mut Namespace,
        process: c_int,
        mm: *const Mm,
        attachment: *const c_void,
        life: *mut *mut Life,
    ) -> c_int;
    pub(crate) fn ntrace_life_remove(life: *mut *mut Life);
    pub(crate) fn ntrace_life_add_guest(life: *mut *mut Life);
    pub(crate) fn ntrace_life_kill(life: *mut *mut Life);
    pub(crate) fn ntrace_life_take_executed(is_guest: *mut bool) -> *mut c_void;
}

// follow/follow.c
extern "C" {
    pub(crate) fn ntrace_follow_add(
        opener: *const Cred,
        id: u64,
        follow: *const c_void,
        most: c_ulong,
        error: *mut c_int,
    ) -> *mut Follow;
    pub(crate) fn ntrace_follow_remove(follow: *mut Follow);
    pub(crate) fn ntrace_follow_next(id: *mut u64) -> *mut c_void;
    pub(crate) fn ntrace_follow_take_newcomer() -> bool;
    pub(crate) fn ntrace_follow_program(buffer: *mut u8) -> usize;
    pub(crate) fn ntrace_follow_is_user(opener: *const Cred, user: u64) -> bool;
    pub(crate) fn ntrace_follow_is_in_group(id: u64) -> bool;
    pub(crate) fn ntrace_follow_is_in_namespace(number: u64) -> bool;
}

// breakpoints/uprobes.c
extern "C" {
    #[cfg(uprobes_call)]
    pub(crate) fn ntrace_uprobes_is_call(mm: *const Mm, instruction: *const u8, length: usize) -> bool;
}

// hit/hooks.c
extern "C" {
    pub(crate) fn ntrace_hooks_init() -> c_int;
    pub(crate) fn ntrace_hooks_exit();
}

// The kernel.
extern "C" {
    // mm/gup.c
    pub(crate) fn fault_in_readable(at: *const c_void, size: usize) -> usize;
    pub(crate) fn fault_in_safe_writeable(at: *const c_void, size: usize) -> usize;
    // kernel/signal.c
    pub(crate) fn force_sig(signal: c_int);
    // kernel/pid_namespace.c
    pub(crate) fn put_pid_ns(namespace: *mut Namespace);
    // mm/vmalloc.c
    pub(crate) fn vfree(memory: *const c_void);
    // fs/file_table.c
    pub(crate) fn fput(file: *mut File);
    // fs/seq_file.c
    pub(crate) fn seq_write(out: *mut SeqFile, bytes: *const c_void, length: usize) -> c_int;
}
