/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT */
/*
 * Messages of /dev/ntrace, see ntrace(4). Written by `cargo xtask gen` from the declarations of the crate ntrace-wire.
 *
 * A structure has the words of a message. A field with the suffix _bytes is the length of a blob; the contents of blobs follow the last
 * word in the order of their lengths, without gaps, then zeroes up to a whole word.
 */
#ifndef _UAPI_NTRACE_H
#define _UAPI_NTRACE_H

#include <linux/types.h>

/* The first two words of each message. Both architectures of ntrace are little-endian. */
struct ntrace_header {
	__u32 words;	/* of the message, including these two */
	__u16 code;
	__u16 flags;
	__u64 tag;
};

#define NTRACE_VERSION 7

/* Flags of a command. */
#define NTRACE_THEN 1

/* How a command ended. */
#define NTRACE_STATUS_DONE 0
#define NTRACE_STATUS_SKIPPED 1
#define NTRACE_STATUS_UNKNOWN 2
#define NTRACE_STATUS_MALFORMED 3
#define NTRACE_STATUS_VALUE 4
#define NTRACE_STATUS_DENIED 5
#define NTRACE_STATUS_NO_PROCESS 6
#define NTRACE_STATUS_NO_THREAD 7
#define NTRACE_STATUS_NO_BREAKPOINT 8
#define NTRACE_STATUS_NOT_HELD 9
#define NTRACE_STATUS_MEMORY 10
#define NTRACE_STATUS_REFUSED 11
#define NTRACE_STATUS_EXISTS 12
#define NTRACE_STATUS_NO_MEMORY 13
#define NTRACE_STATUS_LIMIT 14
#define NTRACE_STATUS_UNSUPPORTED 15

/* Returns the version of the module's vocabulary and properties of the machine. No program needs to send it. */
#define NTRACE_COMMAND_HELLO 0x1
struct ntrace_hello {
	struct ntrace_header header;
};
struct ntrace_hello_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
	/* Version of the module's vocabulary. `describe` lists what a lower version lacks. */
	__u64 version;
	/* Architecture, as ELF's e_machine. */
	__u64 machine;
	/* Size of a page in bytes. */
	__u64 page;
};

/* Lists all commands and events that the module knows, with their fields. */
#define NTRACE_COMMAND_DESCRIBE 0x2
struct ntrace_describe {
	struct ntrace_header header;
};
struct ntrace_describe_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
	/* One line of text for each: `command CODE NAME FIELD:KIND... -> FIELD:KIND...` or `event CODE NAME FIELD:KIND...`. */
	__u64 vocabulary_bytes;
};

/*
 * Chooses what happens to a hit for which there is no room, and when a reader is woken (`BUFFERS` in ntrace(4)). It takes effect
 * at once, also for threads that wait for room.
 */
#define NTRACE_COMMAND_BUFFER 0x3
struct ntrace_buffer {
	struct ntrace_header header;
	/* Mode: 0, the hit is lost (drop); 1, the oldest unread hits are lost (circular); 2, the thread waits (lossless). */
	__u64 mode;
	/*
	 * Bytes of unread events with which there is room for a hit: a multiple of 8 from 8192 to 16777216; 0 for 524288. A mapped ring has its own
	 * size instead, but in the mode circular.
	 */
	__u64 size;
	/* Low-water mark: unread bytes from which hits wake a reader, at most `size`; 0 or 1 for any. */
	__u64 mark;
};
struct ntrace_buffer_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
};

/*
 * Begins to trace a process with all its present and future threads, without interrupting its system calls. A process can be
 * traced at most 64 times at once, by one session or by many.
 */
#define NTRACE_COMMAND_ATTACH 0x10
struct ntrace_attach {
	struct ntrace_header header;
	/* Process number in the PID namespace of the process that opened the channel, not of the one that writes the command. */
	__u64 process;
	/*
	 * Bits: 1, children are traced too; 2, the process is killed if the session ends while the process is traced; 4, a thread
	 * that executes another program is held before its first instruction; 8, a new thread is held before its first instruction,
	 * in children too if they are traced; 16, the counts are kept until `detach`, even if the process ends or executes another
	 * program, so that `counts` still works.
	 */
	__u64 options;
};
struct ntrace_attach_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
	/* Number that later commands use for the process. The session never reuses it. */
	__u64 debuggee;
};

/* Removes all breakpoints of this session from a process, resumes its held threads and stops tracing it. */
#define NTRACE_COMMAND_DETACH 0x11
struct ntrace_detach {
	struct ntrace_header header;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
};
struct ntrace_detach_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
};

/*
 * Chooses the system calls and signals of a process of which the session is told. The choice takes the place of the one before. Traced
 * children, and programs that the process executes, begin with the same choice. A thread that is in a system call may tell of its end alone. A kernel that
 * cannot tell of system calls answers `Unsupported`, whatever the process.
 */
#define NTRACE_COMMAND_REPORT 0x12
struct ntrace_report {
	struct ntrace_header header;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Bits: 1, beginnings and ends of system calls; 2, signals that are about to be delivered; 4, the thread is held at each. */
	__u64 what;
	/*
	 * System calls: bit N of these words is call number N, from the lowest bit of the first word on, at most 16 words. Empty for all
	 * numbers. A number means the call of that number in each table of the architecture.
	 */
	__u64 calls_bytes;
};
struct ntrace_report_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
};

/*
 * Traces processes as soon as they execute a program, as if each was attached before the program's first instruction, where the opener may
 * trace it. All conditions must hold. Processes that the session traces already are left out, and so are programs that the
 * kernel starts for itself. A process that is held and has the only descriptor of the channel waits for itself until it is killed. An opener without CAP_SYS_PTRACE follows processes of its own real user alone.
 * A user has at most 256 such rules in all sessions.
 */
#define NTRACE_COMMAND_FOLLOW 0x13
struct ntrace_follow {
	struct ntrace_header header;
	/*
	 * Pattern for the path of the program, as in `/proc/PID/exe`: `*` stands for any bytes, `?` for one. A pattern without `/` is compared with
	 * the last component. At most 256 bytes; empty for any program. A script's program is its interpreter.
	 */
	__u64 program_bytes;
	/* Real user of the process, as a number in the opener's user namespace; all bits set for any. */
	__u64 user;
	/* Control group of version 2, by the inode number of its folder: the process is in it or in one below; 0 for any. */
	__u64 group;
	/* PID namespace, by the inode number of `/proc/PID/ns/pid`: the process is in it or in one below; 0 for any. */
	__u64 namespace;
	/* Options as in `attach`. */
	__u64 options;
};
struct ntrace_follow_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
	/* Number of the rule. No other rule ever has it. */
	__u64 follow;
};

/* Ends a rule of `follow`. Processes that are traced stay traced. */
#define NTRACE_COMMAND_UNFOLLOW 0x14
struct ntrace_unfollow {
	struct ntrace_header header;
	/* Number of the rule. */
	__u64 follow;
};
struct ntrace_unfollow_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
};

/* Sets breakpoints. Some may fail while others are set. */
#define NTRACE_COMMAND_INSERT 0x20
struct ntrace_insert {
	struct ntrace_header header;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* One record of six words for each breakpoint (`BREAKPOINTS` in ntrace(4), `site::Site` in the library). */
	__u64 sites_bytes;
};
struct ntrace_insert_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
	/* Number of breakpoints that were set. */
	__u64 inserted;
	/* Three words for each breakpoint that was not set: its index in `sites`, the status, the detail. */
	__u64 failures_bytes;
};

/* Removes breakpoints of this session. */
#define NTRACE_COMMAND_REMOVE 0x21
struct ntrace_remove {
	struct ntrace_header header;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* One word for each breakpoint: its address. */
	__u64 addresses_bytes;
};
struct ntrace_remove_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
	/* Number of breakpoints that were removed. */
	__u64 removed;
};

/* Returns how often breakpoints were hit. */
#define NTRACE_COMMAND_COUNTS 0x22
struct ntrace_counts {
	struct ntrace_header header;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* One word for each breakpoint: its address. */
	__u64 addresses_bytes;
};
struct ntrace_counts_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
	/* One word for each address: hits since the breakpoint was set, or all bits set if there is none. */
	__u64 counts_bytes;
};

/*
 * Watches memory of a process by a debug register of each thread, also of new ones and of children that are traced. Accesses by the kernel
 * for a thread are hits too. A thread that hits is told of and held on its way to user mode. Only on x86.
 */
#define NTRACE_COMMAND_WATCH 0x24
struct ntrace_watch {
	struct ntrace_header header;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Address of the first byte, a multiple of `length`. */
	__u64 address;
	/* Number of bytes: 1, 2, 4 or 8; 8 for `access` 3. */
	__u64 length;
	/* Access: 1, writes; 2, reads and writes; 3, the execution of the instruction at the address, before which the thread is held. */
	__u64 access;
};
struct ntrace_watch_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
	/* Number of the watchpoint. The process never reuses it. */
	__u64 watch;
};

/* Removes a watchpoint. */
#define NTRACE_COMMAND_UNWATCH 0x25
struct ntrace_unwatch {
	struct ntrace_header header;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Number of the watchpoint. */
	__u64 watch;
};
struct ntrace_unwatch_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
};

/* Returns how often the rules of breakpoints took their hits, before their limits. */
#define NTRACE_COMMAND_TAKEN 0x26
struct ntrace_taken {
	struct ntrace_header header;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* One word for each breakpoint: its address. */
	__u64 addresses_bytes;
};
struct ntrace_taken_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
	/* One word for each address: such hits since the breakpoint was set, or all bits set if there is none with a rule. */
	__u64 taken_bytes;
};

/*
 * Makes a rule. A breakpoint whose condition names it acts on those hits alone that the rule takes, within its limits. A session has at most
 * 1024 rules.
 */
#define NTRACE_COMMAND_RULE 0x27
struct ntrace_rule {
	struct ntrace_header header;
	/* Thread number: hits of other threads are not taken. 0 for all threads. */
	__u64 thread;
	/* Filter: four words for each clause, at most 64 (`RULES` in ntrace(4)). Empty: all hits are taken. */
	__u64 clauses_bytes;
	/* Limits for the actions: five words (`RULES` in ntrace(4)), or empty for none. */
	__u64 limits_bytes;
	/* Number of an aggregate to which such hits are added; 0 for none. */
	__u64 aggregate;
};
struct ntrace_rule_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
	/* Number of the rule. The session never reuses it. */
	__u64 rule;
};

/* Ends a rule. Breakpoints that name it take no hit any more. */
#define NTRACE_COMMAND_UNRULE 0x28
struct ntrace_unrule {
	struct ntrace_header header;
	/* Number of the rule. */
	__u64 rule;
};
struct ntrace_unrule_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
};

/*
 * Makes an aggregate: the hits that rules add to it are counted by key, and their values summed up. All its memory is taken at once and is
 * the caller's. A session has at most 16.
 */
#define NTRACE_COMMAND_AGGREGATE 0x29
struct ntrace_aggregate {
	struct ntrace_header header;
	/* Two words for each value of the key, at most 4 (`RULES` in ntrace(4)). A part that cannot be read is 0. Empty: there is one row. */
	__u64 key_bytes;
	/* Two words: the value that is summed up. A hit whose value cannot be read is left out. Empty: the hits are counted, as the value 1. */
	__u64 value_bytes;
	/* Histogram of the values: four words (`RULES` in ntrace(4)), or empty for none. */
	__u64 histogram_bytes;
	/* Rows at most, at least 1: hits with further keys are summed up in one row. All rows take at most 4194304 bytes. */
	__u64 rows;
};
struct ntrace_aggregate_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
	/* Number of the aggregate. The session never reuses it. */
	__u64 aggregate;
};

/* Ends an aggregate. Rules that name it act without it. */
#define NTRACE_COMMAND_UNAGGREGATE 0x2a
struct ntrace_unaggregate {
	struct ntrace_header header;
	/* Number of the aggregate. */
	__u64 aggregate;
};
struct ntrace_unaggregate_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
};

/* Reads an aggregate, at one moment. */
#define NTRACE_COMMAND_SUMS 0x2b
struct ntrace_sums {
	struct ntrace_header header;
	/* Number of the aggregate. */
	__u64 aggregate;
	/* 1: the aggregate is empty afterwards, so that each hit is in one reply, unless the kernel has no memory for the reply; else 0. */
	__u64 take;
};
struct ntrace_sums_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
	/*
	 * The rows: for each the words of its key, the number of hits, the low and the high word of the sum, the least and the largest value, and
	 * the numbers of the histogram.
	 */
	__u64 rows_bytes;
	/* The same words without a key for all hits with further keys; empty if there are none. */
	__u64 other_bytes;
};

/* Resumes a held thread. */
#define NTRACE_COMMAND_RESUME 0x30
struct ntrace_resume {
	struct ntrace_header header;
	/* Thread number, as in the event that reported it. */
	__u64 thread;
};
struct ntrace_resume_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
};

/*
 * Lets a held thread execute one instruction, and holds it again. If a signal is delivered first, the thread is held at the
 * beginning of the handler, as by `hold`. Breakpoints at the thread's address do not count the step.
 */
#define NTRACE_COMMAND_STEP 0x31
struct ntrace_step {
	struct ntrace_header header;
	/* Thread number. */
	__u64 thread;
};
struct ntrace_step_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
};

/*
 * Holds a thread, or all threads of a process, on its next return to user mode. A waiting system call is interrupted, and is
 * restarted transparently when the thread is resumed. Each held thread is reported by an event.
 */
#define NTRACE_COMMAND_HOLD 0x32
struct ntrace_hold {
	struct ntrace_header header;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Thread number, or 0 for all threads. */
	__u64 thread;
};
struct ntrace_hold_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
};

/* Reads the registers of a held thread. Slot addresses are translated to original ones. */
#define NTRACE_COMMAND_REGISTERS 0x33
struct ntrace_registers {
	struct ntrace_header header;
	/* Thread number. */
	__u64 thread;
};
struct ntrace_registers_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
	/* The kernel's `struct user_regs_struct` (x86) or `struct user_pt_regs` (arm64). */
	__u64 registers_bytes;
};

/* Writes the registers of a held thread. */
#define NTRACE_COMMAND_SET_REGISTERS 0x34
struct ntrace_set_registers {
	struct ntrace_header header;
	/* Thread number. */
	__u64 thread;
	/* All registers, as `registers` returns them. */
	__u64 registers_bytes;
};
struct ntrace_set_registers_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
};

/* Replaces the signal at which a thread is held, or sends one to a held thread before it is resumed. */
#define NTRACE_COMMAND_SET_SIGNAL 0x35
struct ntrace_set_signal {
	struct ntrace_header header;
	/* Thread number. */
	__u64 thread;
	/* Number of the signal that is delivered when the thread is resumed; 0 for none. */
	__u64 signal;
};
struct ntrace_set_signal_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
};

/* Reads memory of a process, with the original bytes in place of breakpoint instructions. */
#define NTRACE_COMMAND_READ_MEMORY 0x40
struct ntrace_read_memory {
	struct ntrace_header header;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Address of the first byte. */
	__u64 address;
	/* Number of bytes. */
	__u64 length;
};
struct ntrace_read_memory_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
	/* The bytes up to the first that cannot be read. */
	__u64 bytes_bytes;
};

/*
 * Writes memory of a process. Breakpoints in the range stay, on the new instructions; a breakpoint that cannot be set on its new
 * instruction is removed.
 */
#define NTRACE_COMMAND_WRITE_MEMORY 0x41
struct ntrace_write_memory {
	struct ntrace_header header;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Address of the first byte. */
	__u64 address;
	/* The bytes. All are written or none. */
	__u64 bytes_bytes;
};
struct ntrace_write_memory_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
};

/* Lists the mappings of a process. */
#define NTRACE_COMMAND_MAPPINGS 0x42
struct ntrace_mappings {
	struct ntrace_header header;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
};
struct ntrace_mappings_reply {
	struct ntrace_header header;
	__u64 status;
	__u64 detail;
	/* Four words for each mapping: first address, first address after it, protection as in `mmap`(2), offset in the file. */
	__u64 mappings_bytes;
};

/* Events were lost because there was no room for them. The sequence numbers before this one are missing. */
#define NTRACE_EVENT_LOST 0x8000
struct ntrace_lost {
	struct ntrace_header header;
	/* Number of lost events. */
	__u64 count;
};

/* A thread hit a breakpoint that records events. */
#define NTRACE_EVENT_HIT 0x8001
struct ntrace_hit {
	struct ntrace_header header;
	/* Time in nanoseconds (`CLOCK_MONOTONIC`). */
	__u64 time;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Thread number. */
	__u64 thread;
	/* Address of the breakpoint. */
	__u64 address;
	/* Number of hits so far, including this one. */
	__u64 count;
	/* Registers as `registers` returns them; empty unless the breakpoint asks for them. */
	__u64 registers_bytes;
	/* Memory that the breakpoint asks for; else empty. */
	__u64 memory_bytes;
};

/* A thread is held until `resume` or `step`. */
#define NTRACE_EVENT_HELD 0x8002
struct ntrace_held {
	struct ntrace_header header;
	/* Time in nanoseconds (`CLOCK_MONOTONIC`). */
	__u64 time;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Thread number. */
	__u64 thread;
	/*
	 * Reason: 1 a breakpoint, 2 a finished step, 3 `hold`, 4 the thread executed another program, 5 the thread is new, 6 a system call
	 * begins, 7 a system call has ended, 8 a signal, 9 a watchpoint. A step from 6, 7 or 8 ends where the thread goes on in user mode, with reason 3.
	 */
	__u64 reason;
	/* The thread's next instruction. */
	__u64 address;
};

/*
 * A traced process created a process, which has executed nothing yet. A child made by `fork` has its own copy of the breakpoints,
 * whose counts continue from the parent's, if children are traced; otherwise it has none. A child that shares the memory (`vfork`)
 * is traced with its parent, and is reported again when it executes a program: from then on it is traced separately, or not at all.
 */
#define NTRACE_EVENT_FORKED 0x8003
struct ntrace_forked {
	struct ntrace_header header;
	/* Time in nanoseconds (`CLOCK_MONOTONIC`). */
	__u64 time;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Process number of the child. */
	__u64 process;
	/*
	 * Number that later commands use for the child: `debuggee` while it shares the memory, 0 if it is not traced and has no
	 * breakpoint.
	 */
	__u64 child;
};

/*
 * A traced process executed another program, of which no instruction has run. The breakpoints are gone. One thread is left, whose
 * number is the process's. The process stays traced if the channel's opener may trace the new program, which is checked as in
 * `attach`; otherwise `ended` follows.
 */
#define NTRACE_EVENT_EXECUTED 0x8004
struct ntrace_executed {
	struct ntrace_header header;
	/* Time in nanoseconds (`CLOCK_MONOTONIC`). */
	__u64 time;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Number that `counts` uses for the previous program until `detach`; 0 if its counts are not kept. */
	__u64 before;
};

/* A thread has ended. The last threads of a process may not be reported: `ended` covers them. */
#define NTRACE_EVENT_THREAD_ENDED 0x8005
struct ntrace_thread_ended {
	struct ntrace_header header;
	/* Time in nanoseconds (`CLOCK_MONOTONIC`). */
	__u64 time;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Thread number. */
	__u64 thread;
};

/* A traced process has ended, or may no longer be traced. Its number is no longer valid. */
#define NTRACE_EVENT_ENDED 0x8006
struct ntrace_ended {
	struct ntrace_header header;
	/* Time in nanoseconds (`CLOCK_MONOTONIC`). */
	__u64 time;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Status as in `wait`(2), or all bits set if the process lives and may no longer be traced. */
	__u64 status;
};

/* A new thread exists, and has executed nothing yet. */
#define NTRACE_EVENT_THREAD_STARTED 0x8007
struct ntrace_thread_started {
	struct ntrace_header header;
	/* Time in nanoseconds (`CLOCK_MONOTONIC`). */
	__u64 time;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Thread number. */
	__u64 thread;
};

/* A thread is about to make a system call (`report`). A call that a seccomp filter refuses may not be told. */
#define NTRACE_EVENT_SYSCALL_ENTERED 0x8008
struct ntrace_syscall_entered {
	struct ntrace_header header;
	/* Time in nanoseconds (`CLOCK_MONOTONIC`). */
	__u64 time;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Thread number. */
	__u64 thread;
	/* The call's number. */
	__u64 number;
	/* The architecture whose numbers the call follows, as ELF's e_machine. */
	__u64 machine;
	/* Six words: the arguments, also those that the call does not take. */
	__u64 arguments_bytes;
};

/* A system call has ended (`report`). Calls that execute a program, end the thread or return from a signal handler have no such event. */
#define NTRACE_EVENT_SYSCALL_RETURNED 0x8009
struct ntrace_syscall_returned {
	struct ntrace_header header;
	/* Time in nanoseconds (`CLOCK_MONOTONIC`). */
	__u64 time;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Thread number. */
	__u64 thread;
	/* The call's number. */
	__u64 number;
	/* The architecture whose numbers the call follows, as ELF's e_machine. */
	__u64 machine;
	/*
	 * What the call returned. From -4095 to -1 it is a negative error number. From -516 to -512 something interrupted the call: unless
	 * `signal` says otherwise, the kernel begins it once more, which is another event.
	 */
	__u64 result;
	/* Number of the signal whose handler the thread enters next; 0 for none. */
	__u64 signal;
	/* Six words: the arguments, as they were at the call's beginning. */
	__u64 arguments_bytes;
};

/* A signal is about to be delivered to a thread (`report`). Signals that are ignored when they are sent are not delivered. */
#define NTRACE_EVENT_SIGNALLED 0x800a
struct ntrace_signalled {
	struct ntrace_header header;
	/* Time in nanoseconds (`CLOCK_MONOTONIC`). */
	__u64 time;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Thread number. */
	__u64 thread;
	/* Number of the signal. */
	__u64 number;
	/* The kernel's `siginfo_t` without the padding at its end. */
	__u64 info_bytes;
};

/* A thread accessed watched memory (`watch`), and is about to be held. The access is made, except of an instruction's execution. */
#define NTRACE_EVENT_WATCHED 0x800b
struct ntrace_watched {
	struct ntrace_header header;
	/* Time in nanoseconds (`CLOCK_MONOTONIC`). */
	__u64 time;
	/* Process, by the number that `attach` or an event gave. */
	__u64 debuggee;
	/* Thread number. */
	__u64 thread;
	/* Number of the watchpoint. */
	__u64 watch;
	/* Its address. */
	__u64 address;
};

/*
 * A process executed a program that a rule of `follow` names. None of its instructions has run. If the rule has that option, its thread is
 * about to be held with reason 4.
 */
#define NTRACE_EVENT_FOLLOWED 0x800c
struct ntrace_followed {
	struct ntrace_header header;
	/* Time in nanoseconds (`CLOCK_MONOTONIC`). */
	__u64 time;
	/* Number that later commands use for the process; 0 if it is not traced for lack of memory or room. */
	__u64 debuggee;
	/* Number of the process that executed it. */
	__u64 process;
	/* Number of the rule. */
	__u64 follow;
};

#endif
