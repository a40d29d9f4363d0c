//! Commands and their replies: what a session's user asks of the kernel.

use crate::declare::{field, kind, parameters, unfield, value};
use crate::{Declaration, Documentation, Error, Failure, Field, Header, Kind, Message, Sink, Status, encode, flag};

/// Declares commands: the code, the function that carries it out, the variant, what it carries, and what its reply carries.
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

        /// What they are documented with, in the same order.
        pub const DOCUMENTATION: &[Documentation] = &[$(Documentation {
            lines: &[$($doc,)*],
            fields: &[$(&[$($field_doc,)*],)*],
            reply: &[$(&[$($reply_doc,)*],)*],
        },)*];

        /// A command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Command<'a> {
            $($(#[doc = $doc])* $Name { $($(#[doc = $field_doc])* $field: value!('a $kind),)* },)*
        }

        impl<'a> Command<'a> {
            /// The command of a message.
            ///
            /// # Errors
            /// No command has its code, or the fields do not fit.
            pub fn parse(message: &Message<'a>) -> Result<Command<'a>, Error> {
                match message.header.code {
                    $($code => {
                        let [$($field),*] = message.fields(&[$(kind!($kind)),*])?;
                        Ok(Command::$Name { $($field: unfield!($kind, $field),)* })
                    })*
                    code => Err(Error::Code(code)),
                }
            }

            /// Its code.
            pub const fn code(&self) -> u16 {
                match self {
                    $(Command::$Name { .. } => $code,)*
                }
            }

            /// Writes it, with the sender's number for it.
            ///
            /// # Errors
            /// The sink's, or none where it is longer than a message may be.
            pub fn encode<S: Sink>(&self, sink: &mut S, tag: u64, flags: u16) -> Result<(), Option<S::Error>> {
                let header = Header { code: self.code(), flags, tag };
                match *self {
                    $(Command::$Name { $($field),* } => encode(sink, header, &[$(field!($kind, $field)),*]),)*
                }
            }
        }

        /// What a command was answered with.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reply<'a> {
            $(#[doc = concat!("To [`Command::", stringify!($Name), "`].")]
            $Name { $($(#[doc = $reply_doc])* $reply: value!('a $reply_kind),)* },)*
        }

        impl<'a> Reply<'a> {
            /// The reply of a message, or how the command failed.
            ///
            /// # Errors
            /// No command has its code, no status has its number, or the fields do not fit.
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

        /// What carries commands out: a function for each. One that is not there answers [`Status::Unsupported`].
        pub trait Serve {
            $($(#[doc = $doc])*
            ///
            /// # Errors
            /// Why it was not done.
            fn $function(&mut self, $($field: value!('_ $kind)),*) -> Result<($(value!('_ $reply_kind),)*), Failure> {
                $(let _ = $field;)*
                Err(Status::Unsupported.into())
            }
            )*
        }

        /// Calls the function of a command and writes the reply.
        fn call<T: Serve + ?Sized, S: Sink>(
            server: &mut T,
            command: &Command<'_>,
            head: Header,
            sink: &mut S,
        ) -> Result<Result<(), Failure>, Option<S::Error>> {
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

/// How a process is traced: bits of `attach`.
pub mod option {
    /// Its children are traced as it is, each with its own copy of the breakpoints.
    pub const CHILDREN: u64 = 1;
    /// It is killed when the session ends while it is traced.
    pub const KILL: u64 = 2;
    /// A thread that executes another program is held before the first instruction of that.
    pub const HOLD_EXECUTED: u64 = 4;
    /// A new thread is held before its first instruction, and so is a child's, if children are traced.
    pub const HOLD_NEW: u64 = 8;
    /// Its memory is kept until it is detached, though it ends or executes another program: hits can be counted then.
    pub const KEEP: u64 = 16;
    /// All bits that mean something.
    pub const ALL: u64 = CHILDREN | KILL | HOLD_EXECUTED | HOLD_NEW | KEEP;
}

const DONE: Field<'static> = Field::Word(Status::Done as u64);

/// Carries out commands in the order in which they come, and skips those that wanted one before them done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    skips: bool,
}

impl Sequence {
    /// Carries a command out, or skips it, and writes its reply.
    ///
    /// # Errors
    /// The sink's, or none where the reply is longer than a message may be.
    pub fn serve<T: Serve + ?Sized, S: Sink>(
        &mut self,
        server: &mut T,
        message: &Message<'_>,
        sink: &mut S,
    ) -> Result<(), Option<S::Error>> {
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

/// What a sender is told of a message that is no command.
fn unfit(error: Error) -> Failure {
    match error {
        Error::Code(code) => Failure::new(Status::Unknown, u64::from(code)),
        Error::Fields { declared, .. } => Failure::new(Status::Malformed, declared as u64),
        _ => Status::Malformed.into(),
    }
}

/// The status of a reply where it is a failure: nothing but status and detail is there.
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
    /// Says what this side speaks. The first command of a user who wants to know; none has to ask.
    0x01 hello Hello {} -> {
        /// The version of the vocabulary: what the other side declares and a lower version lacks is told by `describe`.
        version: word,
        /// The architecture, as ELF's e_machine.
        machine: word,
        /// Bytes of a page.
        page: word,
    }

    /// Lists the vocabulary: every command and every event with its fields.
    0x02 describe Describe {} -> {
        /// For each a line of text: `command CODE NAME FIELD:KIND... -> FIELD:KIND...` or `event CODE NAME FIELD:KIND...`.
        vocabulary: blob,
    }

    /// Begins to trace a process with all its threads, now and later. No system call of it is interrupted. A process can be traced 64
    /// times at once, by one session or many.
    0x10 attach Attach {
        /// Its number, in the namespace of the channel's opener; not that of the process that writes the command.
        process: word,
        /// Bits: 1, its children are traced as it is; 2, it is killed when the session ends while it is traced; 4, its
        /// threads are held before they run another program; 8, they are held before they begin, and those of its children; 16, its
        /// memory is kept until it is detached, though it ends or executes another program: `counts` and `read_memory` work on it.
        options: word,
    } -> {
        /// What later commands name it by; never used again in this session.
        debuggee: word,
    }

    /// Takes all breakpoints of this session out of a process, lets its threads run, and forgets it.
    0x11 detach Detach {
        /// The process.
        debuggee: word,
    } -> {}

    /// Sets breakpoints, all or some of them.
    0x20 insert Insert {
        /// The process.
        debuggee: word,
        /// A record of six words for each: `site::Site`, or `BREAKPOINTS` in the manual page, says which.
        sites: blob,
    } -> {
        /// How many were set.
        inserted: word,
        /// For each that was not, three words: its place among the sites, the status, the detail.
        failures: blob,
    }

    /// Takes breakpoints of this session out.
    0x21 remove Remove {
        /// The process.
        debuggee: word,
        /// A word for each: its address.
        addresses: blob,
    } -> {
        /// How many were there.
        removed: word,
    }

    /// Tells how often breakpoints were hit.
    0x22 counts Counts {
        /// The process.
        debuggee: word,
        /// A word for each: its address.
        addresses: blob,
    } -> {
        /// A word for each: hits since it was set; all bits where no breakpoint is there.
        counts: blob,
    }

    /// Lets a held thread run.
    0x30 resume Resume {
        /// Its number, as the event that told of it has it.
        thread: word,
    } -> {}

    /// Lets a held thread carry out one instruction, and holds it again. A signal's handler that comes first is held at its beginning, as
    /// by `hold`. Other breakpoints at the place where it stands do not count it.
    0x31 step Step {
        /// Its number.
        thread: word,
    } -> {}

    /// Holds a thread, or all of a process, as soon as it is about to run in user mode. A system call that waits is broken off for it, and
    /// begins again when the thread goes on, as if nothing had been. An event tells of each.
    0x32 hold Hold {
        /// The process.
        debuggee: word,
        /// Its number; 0 for all threads.
        thread: word,
    } -> {}

    /// Reads the registers of a held thread, as if there were no slots.
    0x33 registers Registers {
        /// Its number.
        thread: word,
    } -> {
        /// The kernel's `struct user_regs_struct` or `struct user_pt_regs` of this machine.
        registers: blob,
    }

    /// Writes the registers of a held thread.
    0x34 set_registers SetRegisters {
        /// Its number.
        thread: word,
        /// All of them, as `registers` gives them.
        registers: blob,
    } -> {}

    /// Reads memory, as if there were no breakpoints.
    0x40 read_memory ReadMemory {
        /// The process.
        debuggee: word,
        /// From here on.
        address: word,
        /// So many bytes.
        length: word,
    } -> {
        /// Those up to the first that cannot be read.
        bytes: blob,
    }

    /// Writes memory, behind the breakpoints that are there: they stay, and what they stand on changes. One that cannot be set on the
    /// instruction that stands there then is gone.
    0x41 write_memory WriteMemory {
        /// The process.
        debuggee: word,
        /// From here on.
        address: word,
        /// All of these or none.
        bytes: blob,
    } -> {}

    /// Tells what is mapped.
    0x42 mappings Mappings {
        /// The process.
        debuggee: word,
    } -> {
        /// For each four words: first address, first address behind it, protection as `mmap` has it, offset in the file.
        mappings: blob,
    }
}
