// SPDX-License-Identifier: GPL-2.0

//! What is called of C and not among the kernel's bindings: shim.c, and exported functions.

use kernel::bindings::wait_queue_head;
use kernel::error::from_err_ptr;
use kernel::ffi::{c_int, c_long, c_ulong, c_void};
use kernel::prelude::*;

use fastpath::Registers;

/// Bits of poll's answer (include/uapi/asm-generic/poll.h).
pub(crate) mod poll {
    pub(crate) const READABLE: u32 = 0x0001 | 0x0040;
    pub(crate) const WRITABLE: u32 = 0x0004 | 0x0100;
}

/// `struct task_struct`, seen by its address only.
#[repr(C)]
pub(crate) struct Task([u8; 0]);
/// What lives.c knows of a debuggee's process, seen by its address only.
#[repr(C)]
pub(crate) struct Life([u8; 0]);
/// `struct file`, seen by its address only.
#[repr(C)]
pub(crate) struct File([u8; 0]);
/// `struct inode`, seen by its address only.
#[repr(C)]
pub(crate) struct Inode([u8; 0]);
/// `struct cred`, seen by its address only.
#[repr(C)]
pub(crate) struct Cred([u8; 0]);
/// `struct pid_namespace`, seen by its address only.
#[repr(C)]
pub(crate) struct Namespace([u8; 0]);
/// `struct poll_table_struct`, seen by its address only.
#[repr(C)]
pub(crate) struct PollTable([u8; 0]);
/// `struct vm_area_struct`, seen by its address only.
#[repr(C)]
pub(crate) struct Mapping([u8; 0]);
/// `struct seq_file`, seen by its address only.
#[repr(C)]
pub(crate) struct SeqFile([u8; 0]);
/// `struct miscdevice`, seen by its address only.
#[repr(C)]
pub(crate) struct Device([u8; 0]);

/// What a function of C answers, 0 or a negative error number. The kernel's own `to_result` is no generic function: its name depends on
/// the compiler that built the kernel.
pub(crate) fn result(answer: c_int) -> Result {
    from_err_ptr(answer as isize as *mut c_void).map(drop)
}

extern "C" {
    pub(crate) static mut ntrace_device: Device;
    pub(crate) fn ntrace_file_private(file: *const File) -> *mut c_void;
    pub(crate) fn ntrace_file_cred(file: *const File) -> *const Cred;
    pub(crate) fn ntrace_cred_put(cred: *const Cred);
    pub(crate) fn ntrace_file_begin(file: *mut File, session: *mut c_void);
    pub(crate) fn ntrace_file_waits(file: *const File) -> bool;
    pub(crate) fn ntrace_poll_wait(file: *mut File, queue: *mut wait_queue_head, table: *mut PollTable);
    pub(crate) fn ntrace_wait_init(queue: *mut wait_queue_head);
    pub(crate) fn ntrace_wait(
        queue: *mut wait_queue_head,
        count: *const c_ulong,
        least: c_ulong,
        most: c_ulong,
    ) -> c_int;

    pub(crate) fn ntrace_killed() -> bool;
    pub(crate) fn ntrace_wait_killable(queue: *mut wait_queue_head, count: *const c_ulong, least: c_ulong);

    pub(crate) fn ntrace_ring_size(vma: *const Mapping) -> c_ulong;
    pub(crate) fn ntrace_ring_make(size: c_ulong) -> *mut c_void;
    pub(crate) fn ntrace_ring_map(vma: *mut Mapping, ring: *mut c_void) -> c_int;

    pub(crate) fn ntrace_memory_begin() -> c_int;
    pub(crate) fn ntrace_memory_end();
    pub(crate) fn ntrace_namespace() -> *mut Namespace;
    pub(crate) fn ntrace_memory_open(cred: *const Cred, namespace: *mut Namespace, process: c_int) -> *mut File;
    pub(crate) fn ntrace_memory_read(
        mm: *mut c_void,
        at: c_ulong,
        bytes: *mut c_void,
        size: c_ulong,
        locked: bool,
    ) -> c_long;
    pub(crate) fn ntrace_memory_write(mm: *mut c_void, at: c_ulong, bytes: *const c_void, size: c_ulong) -> c_long;
    pub(crate) fn ntrace_memory_mappings(mm: *mut c_void, words: *mut u64, most: c_ulong) -> c_long;

    pub(crate) fn ntrace_memory_growth(mm: *mut c_void, heap: *mut u64, brk: *mut u64, stack: *mut u64);
    pub(crate) fn ntrace_memory_map(mm: *mut c_void, at: c_ulong, size: c_ulong, protection: c_ulong) -> c_long;
    pub(crate) fn ntrace_memory_unmap(mm: *mut c_void, at: c_ulong, size: c_ulong) -> c_long;
    pub(crate) fn ntrace_memory_hold(mm: *mut c_void);
    pub(crate) fn ntrace_memory_drop(mm: *mut c_void);
    pub(crate) fn ntrace_memory_keep(mm: *mut c_void) -> bool;
    pub(crate) fn ntrace_memory_leave(mm: *mut c_void);
    pub(crate) fn ntrace_memory_patch(mm: *mut c_void, patches: *mut c_void, count: c_ulong, size: c_ulong) -> c_long;
    pub(crate) fn ntrace_memory_work(function: unsafe extern "C" fn(*mut c_void), data: *mut c_void);
    pub(crate) fn ntrace_thread_number(thread: *mut Task, namespace: *mut Namespace) -> c_int;
    pub(crate) fn ntrace_thread_leads() -> bool;
    pub(crate) fn ntrace_thread_call_this();
    pub(crate) fn ntrace_thread_is_signalled() -> bool;
    pub(crate) fn ntrace_life_begin(
        namespace: *mut Namespace,
        process: c_int,
        mm: *mut c_void,
        watch: *const c_void,
        place: *mut *mut Life,
    ) -> c_int;
    pub(crate) fn ntrace_life_end(place: *mut *mut Life);
    pub(crate) fn ntrace_life_join(place: *mut *mut Life);
    pub(crate) fn ntrace_life_kill(place: *mut *mut Life);
    pub(crate) fn ntrace_life_due(is_guest: *mut bool) -> *mut c_void;
    pub(crate) fn ntrace_registers_get(registers: *mut c_void, size: usize) -> usize;
    pub(crate) fn ntrace_threads_list(
        mm: *mut c_void,
        namespace: *mut Namespace,
        numbers: *mut u64,
        most: c_ulong,
    ) -> c_ulong;
    pub(crate) fn ntrace_thread_call(mm: *mut c_void, namespace: *mut Namespace, number: c_int) -> bool;
    pub(crate) fn ntrace_threads_visit(
        mm: *mut c_void,
        look: unsafe extern "C" fn(*mut Registers, *mut c_void),
        data: *mut c_void,
    );

    #[cfg(uprobes_call)]
    pub(crate) fn ntrace_uprobes_call(mm: *mut c_void, instruction: *const u8, length: usize) -> bool;
    pub(crate) fn ntrace_uprobes_leave(mm: *mut c_void, at: c_ulong);

    pub(crate) fn ntrace_user_write(to: c_ulong, from: *const c_void, size: c_ulong) -> c_ulong;
    pub(crate) fn ntrace_user_copy(to: *mut c_void, from: c_ulong, size: c_ulong) -> c_ulong;

    pub(crate) fn ntrace_spaces_lock();
    pub(crate) fn ntrace_spaces_unlock();
    pub(crate) fn ntrace_read_lock();
    pub(crate) fn ntrace_read_unlock();

    pub(crate) fn ntrace_hooks_begin() -> c_int;
    pub(crate) fn ntrace_hooks_end();

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
    // drivers/char/misc.c
    pub(crate) fn misc_register(device: *mut Device) -> c_int;
    pub(crate) fn misc_deregister(device: *mut Device);
    // fs/seq_file.c
    pub(crate) fn seq_write(out: *mut SeqFile, bytes: *const c_void, length: usize) -> c_int;
}
