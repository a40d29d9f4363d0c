//! Commands, which a program writes to the channel, and their replies.

use crate::declare::{field, kind, parameters, unfield, value};
use crate::{
    Declaration, Documentation, EncodeError, Error, Failure, Field, Header, Kind, Message, Sink, Status, encode, flag,
};

/// Declares commands: code, function that carries the command out, enum variant, fields, fields of the reply.
macro_rules! commands {
    ($(
        $(#[doc = $doc:literal])*
        $code:literal $function:ident $Name:ident {
            $($(#[doc = $field_doc:literal])* $field:ident: $kind:ident,)*
        } -> {
            $($(#[doc = $reply_doc:literal])* $reply:ident: $reply_kind:ident,)*
        }
    )*) => {
        /// All commands.
        pub const DECLARATIONS: &[Declaration] = &[$(Declaration {
            code: $code,
            name: stringify!($function),
            fields: parameters!($($field: $kind,)*),
            reply: parameters!($($reply: $reply_kind,)*),
        },)*];

        /// The documentation of all commands, in the order of [`DECLARATIONS`].
        pub const DOCUMENTATION: &[Documentation] = &[$(Documentation {
            lines: &[$($doc,)*],
            fields: &[$(&[$($field_doc,)*],)*],
            reply: &[$(&[$($reply_doc,)*],)*],
        },)*];

        /// A command. Later versions may have more.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Command<'a> {
            $($(#[doc = $doc])* $Name { $($(#[doc = $field_doc])* $field: value!('a $kind),)* },)*
        }

        impl<'a> Command<'a> {
            /// The command that a message holds.
            ///
            /// # Errors
            /// No command has the message's code, or the fields do not fit the declaration.
            pub fn parse(message: &Message<'a>) -> Result<Command<'a>, Error> {
                match message.header.code {
                    $($code => {
                        let [$($field),*] = message.fields(&[$(kind!($kind)),*])?;
                        Ok(Command::$Name { $($field: unfield!($kind, $field),)* })
                    })*
                    code => Err(Error::Code(code)),
                }
            }

            /// The command's code.
            pub const fn code(&self) -> u16 {
                match self {
                    $(Command::$Name { .. } => $code,)*
                }
            }

            /// Writes the command as a message with the given tag and flags ([`flag`]).
            ///
            /// # Errors
            /// As [`encode`].
            pub fn encode<S: Sink>(&self, sink: &mut S, tag: u64, flags: u16) -> Result<(), EncodeError<S::Error>> {
                let header = Header { code: self.code(), flags, tag };
                match *self {
                    $(Command::$Name { $($field),* } => encode(sink, header, &[$(field!($kind, $field)),*]),)*
                }
            }
        }

        /// The reply to a command that was carried out. Later versions may have more.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Reply<'a> {
            $(#[doc = concat!("Reply to [`Command::", stringify!($Name), "`].")]
            $Name { $($(#[doc = $reply_doc])* $reply: value!('a $reply_kind),)* },)*
        }

        impl<'a> Reply<'a> {
            /// The reply that a message holds, or the reason why the command failed.
            ///
            /// # Errors
            /// No command has the message's code, no status has its number, or the fields do not fit the declaration.
            pub fn parse(message: &Message<'a>) -> Result<Result<Reply<'a>, Failure>, Error> {
                if let Some(failure) = failure(message)? {
                    return Ok(Err(failure));
                }
                match message.header.code {
                    $($code => {
                        let [_, _, $($reply),*] = message.fields(&[Kind::Word, Kind::Word, $(kind!($reply_kind)),*])?;
                        Ok(Ok(Reply::$Name { $($reply: unfield!($reply_kind, $reply),)* }))
                    })*
                    code => Err(Error::Code(code)),
                }
            }
        }

        /// Carries commands out, with one function for each. The default of each function returns [`Status::Unsupported`].
        pub trait Serve {
            $($(#[doc = $doc])*
            ///
            /// # Errors
            /// The reason why the command was not carried out.
            fn $function(&mut self, $($field: value!('_ $kind)),*) -> Result<($(value!('_ $reply_kind),)*), Failure> {
                $(let _ = $field;)*
                Err(Status::Unsupported.into())
            }
            )*
        }

        /// Calls a command's function and writes the reply.
        fn call<T: Serve + ?Sized, S: Sink>(
            server: &mut T,
            command: &Command<'_>,
            head: Header,
            sink: &mut S,
        ) -> Result<Result<(), Failure>, EncodeError<S::Error>> {
            match *command {
                $(Command::$Name { $($field),* } => match server.$function($($field),*) {
                    Ok(($($reply,)*)) => {
                        let fields = [DONE, Field::Word(0), $(field!($reply_kind, $reply)),*];
                        encode(sink, head, &fields).map(Ok)
                    }
                    Err(failure) => Ok(Err(failure)),
                },)*
            }
        }
    };
}

/// Options of `attach`, as bits.
pub mod option {
    /// Children of the process are traced too, each with its own copy of the breakpoints.
    pub const CHILDREN: u64 = 1;
    /// The process is killed if the session ends while the process is traced.
    pub const KILL: u64 = 2;
    /// A thread that executes another program is held before the program's first instruction.
    pub const HOLD_EXECUTED: u64 = 4;
    /// A new thread is held before its first instruction; with [`CHILDREN`] also the first thread of a child.
    pub const HOLD_NEW: u64 = 8;
    /// The counts are kept until `detach`, even if the process ends or executes another program.
    pub const KEEP: u64 = 16;
    /// All defined bits.
    pub const ALL: u64 = CHILDREN | KILL | HOLD_EXECUTED | HOLD_NEW | KEEP;
}

/// Values and bounds of the command `follow`.
pub mod following {
    /// In place of a user: all users.
    pub const ANY_USER: u64 = u64::MAX;
    /// In place of a control group: all groups.
    pub const ANY_GROUP: u64 = 0;
    /// In place of a PID namespace: all namespaces.
    pub const ANY_NAMESPACE: u64 = 0;
    /// Bytes of a pattern at most. A comparison takes at most as many steps as the pattern has bytes, times the bytes of the path.
    pub const MOST_PATTERN: usize = 256;
    /// Rules of a user at most, in all sessions: each program that the user executes is compared with all of them.
    pub const MOST_RULES: usize = 256;
}

/// What `report` chooses, as bits.
pub mod reported {
    /// Beginnings and ends of system calls.
    pub const SYSCALLS: u64 = 1;
    /// Signals that are about to be delivered.
    pub const SIGNALS: u64 = 2;
    /// The thread is held at each of them.
    pub const HOLD: u64 = 4;
    /// All defined bits.
    pub const ALL: u64 = SYSCALLS | SIGNALS | HOLD;
    /// System calls from this number on can only be chosen with all others.
    pub const NUMBERS: usize = 1024;
}

/// Accesses that `watch` observes.
pub mod access {
    /// Writes.
    pub const WRITE: u64 = 1;
    /// Reads and writes.
    pub const READ_WRITE: u64 = 2;
    /// The execution of the instruction at the address.
    pub const EXECUTE: u64 = 3;
}

const DONE: Field<'static> = Field::Word(Status::Done as u64);

/// Carries out a stream of commands in order, and skips commands whose predecessor with [`flag::THEN`] failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    skips: bool,
}

impl Sequence {
    /// Carries a command out, or skips it, and writes the reply.
    ///
    /// # Errors
    /// As [`encode`].
    pub fn serve<T: Serve + ?Sized, S: Sink>(
        &mut self,
        server: &mut T,
        message: &Message<'_>,
        sink: &mut S,
    ) -> Result<(), EncodeError<S::Error>> {
        let head = Header { flags: 0, ..message.header };
        let outcome = if self.skips {
            Err(Status::Skipped.into())
        } else {
            match Command::parse(message) {
                Ok(command) => call(server, &command, head, sink)?,
                Err(error) => Err(unfit(error)),
            }
        };
        self.skips = outcome.is_err() && message.header.flags & flag::THEN != 0;
        match outcome {
            Ok(()) => Ok(()),
            Err(Failure { status, detail }) => encode(sink, head, &[Field::Word(status as u64), Field::Word(detail)]),
        }
    }
}

/// The failure for a message that is not a command.
fn unfit(error: Error) -> Failure {
    match error {
        Error::Code(code) => Failure::new(Status::Unknown, u64::from(code)),
        Error::Fields { declared, .. } => Failure::new(Status::Malformed, declared as u64),
        _ => Status::Malformed.into(),
    }
}

/// The failure that a reply tells, if it is one: such a reply has only status and detail.
fn failure(message: &Message<'_>) -> Result<Option<Failure>, Error> {
    let number = message.first_word().ok_or(Error::Fields { declared: 2, words: 0 })?;
    match Status::from_number(number).ok_or(Error::Status(number))? {
        Status::Done => Ok(None),
        status => {
            let [_, detail] = message.fields(&[Kind::Word, Kind::Word])?;
            Ok(Some(Failure { status, detail: detail.word() }))
        }
    }
}

commands! {
    /// Returns the version of the module's vocabulary and properties of the machine. No program needs to send it.
    0x01 hello Hello {} -> {
        /// Version of the module's vocabulary. `describe` lists what a lower version lacks.
        version: word,
        /// Architecture, as ELF's e_machine.
        machine: word,
        /// Size of a page in bytes.
        page: word,
    }

    /// Lists all commands and events that the module knows, with their fields.
    0x02 describe Describe {} -> {
        /// One line of text for each: `command CODE NAME FIELD:KIND... -> FIELD:KIND...` or `event CODE NAME FIELD:KIND...`.
        vocabulary: blob,
    }

    /// Chooses what happens to a hit for which there is no room, and when a reader is woken (`BUFFERS` in ntrace(4)). It takes effect
    /// at once, also for threads that wait for room.
    0x03 buffer Buffer {
        /// Mode: 0, the hit is lost (drop); 1, the oldest unread hits are lost (circular); 2, the thread waits (lossless).
        mode: word,
        /// Bytes of unread events with which there is room for a hit: a multiple of 8 from 8192 to 16777216; 0 for 524288. A mapped ring has its own
        /// size instead, but in the mode circular.
        size: word,
        /// Low-water mark: unread bytes from which hits wake a reader, at most `size`; 0 or 1 for any.
        mark: word,
    } -> {}

    /// Begins to trace a process with all its present and future threads, without interrupting its system calls. A process can be
    /// traced at most 64 times at once, by one session or by many.
    0x10 attach Attach {
        /// Process number in the PID namespace of the process that opened the channel, not of the one that writes the command.
        process: word,
        /// Bits: 1, children are traced too; 2, the process is killed if the session ends while the process is traced; 4, a thread
        /// that executes another program is held before its first instruction; 8, a new thread is held before its first instruction,
        /// in children too if they are traced; 16, the counts are kept until `detach`, even if the process ends or executes another
        /// program, so that `counts` still works.
        options: word,
    } -> {
        /// Number that later commands use for the process. The session never reuses it.
        debuggee: word,
    }

    /// Removes all breakpoints of this session from a process, resumes its held threads and stops tracing it.
    0x11 detach Detach {
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
    } -> {}

    /// Chooses the system calls and signals of a process of which the session is told. The choice takes the place of the one before. Traced
    /// children, and programs that the process executes, begin with the same choice. A thread that is in a system call may tell of its end alone. A kernel that
    /// cannot tell of system calls answers `Unsupported`, whatever the process.
    0x12 report Report {
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Bits: 1, beginnings and ends of system calls; 2, signals that are about to be delivered; 4, the thread is held at each.
        what: word,
        /// System calls: bit N of these words is call number N, from the lowest bit of the first word on, at most 16 words. Empty for all
        /// numbers. A number means the call of that number in each table of the architecture.
        calls: blob,
    } -> {}

    /// Traces processes as soon as they execute a program, as if each was attached before the program's first instruction, where the opener may
    /// trace it. All conditions must hold. Processes that the session traces already are left out, and so are programs that the
    /// kernel starts for itself. A process that is held and has the only descriptor of the channel waits for itself until it is killed. An opener without CAP_SYS_PTRACE follows processes of its own real user alone.
    /// A user has at most 256 such rules in all sessions.
    0x13 follow Follow {
        /// Pattern for the path of the program, as in `/proc/PID/exe`: `*` stands for any bytes, `?` for one. A pattern without `/` is compared with
        /// the last component. At most 256 bytes; empty for any program. A script's program is its interpreter.
        program: blob,
        /// Real user of the process, as a number in the opener's user namespace; all bits set for any.
        user: word,
        /// Control group of version 2, by the inode number of its folder: the process is in it or in one below; 0 for any.
        group: word,
        /// PID namespace, by the inode number of `/proc/PID/ns/pid`: the process is in it or in one below; 0 for any.
        namespace: word,
        /// Options as in `attach`.
        options: word,
    } -> {
        /// Number of the rule. No other rule ever has it.
        follow: word,
    }

    /// Ends a rule of `follow`. Processes that are traced stay traced.
    0x14 unfollow Unfollow {
        /// Number of the rule.
        follow: word,
    } -> {}

    /// Sets breakpoints. Some may fail while others are set.
    0x20 insert Insert {
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// One record of six words for each breakpoint (`BREAKPOINTS` in ntrace(4), `site::Site` in the library).
        sites: blob,
    } -> {
        /// Number of breakpoints that were set.
        inserted: word,
        /// Three words for each breakpoint that was not set: its index in `sites`, the status, the detail.
        failures: blob,
    }

    /// Removes breakpoints of this session.
    0x21 remove Remove {
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// One word for each breakpoint: its address.
        addresses: blob,
    } -> {
        /// Number of breakpoints that were removed.
        removed: word,
    }

    /// Returns how often breakpoints were hit.
    0x22 counts Counts {
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// One word for each breakpoint: its address.
        addresses: blob,
    } -> {
        /// One word for each address: hits since the breakpoint was set, or all bits set if there is none.
        counts: blob,
    }

    /// Watches memory of a process by a debug register of each thread, also of new ones and of children that are traced. Accesses by the kernel
    /// for a thread are hits too. A thread that hits is told of and held on its way to user mode. Only on x86.
    0x24 watch Watch {
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Address of the first byte, a multiple of `length`.
        address: word,
        /// Number of bytes: 1, 2, 4 or 8; 8 for `access` 3.
        length: word,
        /// Access: 1, writes; 2, reads and writes; 3, the execution of the instruction at the address, before which the thread is held.
        access: word,
    } -> {
        /// Number of the watchpoint. The process never reuses it.
        watch: word,
    }

    /// Removes a watchpoint.
    0x25 unwatch Unwatch {
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Number of the watchpoint.
        watch: word,
    } -> {}

    /// Returns how often the rules of breakpoints took their hits, before their limits.
    0x26 taken Taken {
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// One word for each breakpoint: its address.
        addresses: blob,
    } -> {
        /// One word for each address: such hits since the breakpoint was set, or all bits set if there is none with a rule.
        taken: blob,
    }

    /// Makes a rule. A breakpoint whose condition names it acts on those hits alone that the rule takes, within its limits. A session has at most
    /// 1024 rules.
    0x27 rule Rule {
        /// Thread number: hits of other threads are not taken. 0 for all threads.
        thread: word,
        /// Filter: four words for each clause, at most 64 (`RULES` in ntrace(4)). Empty: all hits are taken.
        clauses: blob,
        /// Limits for the actions: five words (`RULES` in ntrace(4)), or empty for none.
        limits: blob,
        /// Number of an aggregate to which such hits are added; 0 for none.
        aggregate: word,
    } -> {
        /// Number of the rule. The session never reuses it.
        rule: word,
    }

    /// Ends a rule. Breakpoints that name it take no hit any more.
    0x28 unrule Unrule {
        /// Number of the rule.
        rule: word,
    } -> {}

    /// Makes an aggregate: the hits that rules add to it are counted by key, and their values summed up. All its memory is taken at once and is
    /// the caller's. A session has at most 16.
    0x29 aggregate Aggregate {
        /// Two words for each value of the key, at most 4 (`RULES` in ntrace(4)). A part that cannot be read is 0. Empty: there is one row.
        key: blob,
        /// Two words: the value that is summed up. A hit whose value cannot be read is left out. Empty: the hits are counted, as the value 1.
        value: blob,
        /// Histogram of the values: four words (`RULES` in ntrace(4)), or empty for none.
        histogram: blob,
        /// Rows at most, at least 1: hits with further keys are summed up in one row. All rows take at most 4194304 bytes.
        rows: word,
    } -> {
        /// Number of the aggregate. The session never reuses it.
        aggregate: word,
    }

    /// Ends an aggregate. Rules that name it act without it.
    0x2a unaggregate Unaggregate {
        /// Number of the aggregate.
        aggregate: word,
    } -> {}

    /// Reads an aggregate, at one moment.
    0x2b sums Sums {
        /// Number of the aggregate.
        aggregate: word,
        /// 1: the aggregate is empty afterwards, so that each hit is in one reply, unless the kernel has no memory for the reply; else 0.
        take: word,
    } -> {
        /// The rows: for each the words of its key, the number of hits, the low and the high word of the sum, the least and the largest value, and
        /// the numbers of the histogram.
        rows: blob,
        /// The same words without a key for all hits with further keys; empty if there are none.
        other: blob,
    }

    /// Resumes a held thread.
    0x30 resume Resume {
        /// Thread number, as in the event that reported it.
        thread: word,
    } -> {}

    /// Lets a held thread execute one instruction, and holds it again. If a signal is delivered first, the thread is held at the
    /// beginning of the handler, as by `hold`. Breakpoints at the thread's address do not count the step.
    0x31 step Step {
        /// Thread number.
        thread: word,
    } -> {}

    /// Holds a thread, or all threads of a process, on its next return to user mode. A waiting system call is interrupted, and is
    /// restarted transparently when the thread is resumed. Each held thread is reported by an event.
    0x32 hold Hold {
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Thread number, or 0 for all threads.
        thread: word,
    } -> {}

    /// Reads the registers of a held thread. Slot addresses are translated to original ones.
    0x33 registers Registers {
        /// Thread number.
        thread: word,
    } -> {
        /// The kernel's `struct user_regs_struct` (x86) or `struct user_pt_regs` (arm64).
        registers: blob,
    }

    /// Writes the registers of a held thread.
    0x34 set_registers SetRegisters {
        /// Thread number.
        thread: word,
        /// All registers, as `registers` returns them.
        registers: blob,
    } -> {}

    /// Replaces the signal at which a thread is held, or sends one to a held thread before it is resumed.
    0x35 set_signal SetSignal {
        /// Thread number.
        thread: word,
        /// Number of the signal that is delivered when the thread is resumed; 0 for none.
        signal: word,
    } -> {}

    /// Reads memory of a process, with the original bytes in place of breakpoint instructions.
    0x40 read_memory ReadMemory {
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Address of the first byte.
        address: word,
        /// Number of bytes.
        length: word,
    } -> {
        /// The bytes up to the first that cannot be read.
        bytes: blob,
    }

    /// Writes memory of a process. Breakpoints in the range stay, on the new instructions; a breakpoint that cannot be set on its new
    /// instruction is removed.
    0x41 write_memory WriteMemory {
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Address of the first byte.
        address: word,
        /// The bytes. All are written or none.
        bytes: blob,
    } -> {}

    /// Lists the mappings of a process.
    0x42 mappings Mappings {
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
    } -> {
        /// Four words for each mapping: first address, first address after it, protection as in `mmap`(2), offset in the file.
        mappings: blob,
    }
}
