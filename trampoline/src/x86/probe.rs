//! What a trampoline does at a hit.

use insn::x86::Reg;

/// What happens at an instruction.
///
/// A trampoline counts the arrival, tests the condition, and then does the actions in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probe<'a> {
    /// Offset of the instruction from the site.
    pub offset: u8,
    /// Address of an aligned word of eight bytes that counts arrivals, whatever the condition says.
    pub arrivals: Option<u64>,
    /// The condition for the actions: they are done if all clauses of at least one of these lists hold. Without a list they are always done.
    pub condition: &'a [&'a [Clause]],
    /// What is done.
    pub actions: &'a [Action<'a>],
}

/// A comparison of a number with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The left side.
    pub subject: Subject,
    /// The comparison.
    pub relation: Relation,
    /// The right side.
    pub value: u64,
}

impl Relation {
    /// Whether the relation is one of signed numbers.
    pub(super) fn is_signed(self) -> bool {
        matches!(self, Relation::Less | Relation::LessOrEqual | Relation::Greater | Relation::GreaterOrEqual)
    }
}

/// The left side of a [`Clause`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// One of the first sixteen general registers, or rip.
    Register(Reg),
    /// The lowest 1, 2, 4 or 8 bytes of one of the first sixteen general registers.
    Part {
        /// The register.
        register: Reg,
        /// Number of bytes.
        size: u8,
    },
    /// Memory of 1, 2, 4 or 8 bytes. The clause does not hold if the memory lies outside of its window.
    Memory(Memory),
    /// The number of arrivals, including this one. It needs [`Probe::arrivals`].
    Arrivals,
}

/// The comparison of a [`Clause`], in the terms of the SDM: *below* and *above* compare unsigned numbers, to which the left side is
/// zero-extended; *less* and *greater* compare signed ones, to which it is sign-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Relation {
    /// Left equals right.
    Equal,
    /// Left differs from right.
    NotEqual,
    /// Left is below right.
    Below,
    /// Left is below or equal to right.
    BelowOrEqual,
    /// Left is above right.
    Above,
    /// Left is above or equal to right.
    AboveOrEqual,
    /// Left is less than right.
    Less,
    /// Left is less than or equal to right.
    LessOrEqual,
    /// Left is greater than right.
    Greater,
    /// Left is greater than or equal to right.
    GreaterOrEqual,
    /// Left has all bits of right.
    AllOf,
    /// Left has at least one bit of right.
    AnyOf,
}

/// Memory of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// One of the first sixteen general registers; without it the offset is the address.
    pub base: Option<Reg>,
    /// Offset from the base in bytes; the sum wraps.
    pub offset: i64,
    /// Number of bytes.
    pub size: u8,
    /// Address of two aligned words of eight bytes: the start of the window in which the memory must lie, and the window's size in bytes.
    ///
    /// The trampoline reads no memory outside of it. The caller changes the words when the program's mappings change. If the memory
    /// cannot be read in spite of its window, the processor faults at a [`Place`](super::Place) with a
    /// [`fixup`](super::Place::fixup).
    pub window: u64,
}

/// Something that a trampoline does. All addresses must be within reach: 2 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action<'a> {
    /// Adds one to an aligned word of eight bytes.
    Count {
        /// Address of the word.
        counter: u64,
        /// Whether the addition is atomic (`lock`). Otherwise hits of two threads at the same time may count once.
        atomic: bool,
    },
    /// Adds one to the word of the processor that the thread runs on. The addition is atomic: the thread may move meanwhile.
    CountPerCpu {
        /// Address of the word of processor 0.
        counters: u64,
        /// Number of words as a power of two, at most 12. Processors whose numbers are equal modulo that share a word.
        words: u8,
        /// Distance of two words in bytes as a power of two, 3 to 12.
        stride: u8,
        /// The source of the processor's number.
        source: CpuSource,
    },
    /// Puts a record into a ring.
    Record(Record<'a>),
    /// Adds one to the bucket of a number. Bucket 0 counts zeros; bucket n counts numbers from 2ⁿ⁻¹ to 2ⁿ − 1.
    Log2 {
        /// Address of 65 words of eight bytes.
        buckets: u64,
        /// The number.
        source: Source,
    },
    /// Adds one to the bucket of a number. Bucket n counts numbers from low + n · width on. Two more buckets follow the last one:
    /// numbers below `low`, and numbers above all buckets.
    Linear {
        /// Address of `count` + 2 words of eight bytes.
        buckets: u64,
        /// The least number in bucket 0.
        low: u64,
        /// Width of a bucket, not 0.
        width: u64,
        /// Number of buckets, not 0 and below 2³¹.
        count: u32,
        /// The number.
        source: Source,
    },
    /// Adds a number to a row of 69 words of eight bytes, which are zero at first: the low half of the sum, its high half, the complement of the
    /// least number, the largest number, and the 65 buckets of [`Action::Log2`], whose sum is the number of numbers. [`Progress`](crate::Progress)
    /// tells how far a thread is, if nothing is counted or done before.
    Sum {
        /// Address of the row.
        row: u64,
        /// The number.
        source: Source,
    },
    /// Notes the time for [`Source::Since`] of another site.
    Stamp {
        /// The table of threads.
        threads: Threads,
        /// The source of the thread's key.
        key: ThreadKey,
    },
    /// Stops the thread by `int3`, after all other actions. [`Trampoline::stopped`](super::Trampoline::stopped) tells it from the program's own,
    /// and the [`Place`](super::Place) of the `int3` gives the state at the instruction. A thread that goes on from its pc executes the
    /// instruction.
    Stop,
}

/// A number that a histogram counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// One of the first sixteen general registers.
    Register(Reg),
    /// Ticks of the time stamp counter since this thread's last [`Action::Stamp`] into the table. Nothing is counted if there is none.
    Since {
        /// The table of threads.
        threads: Threads,
        /// The source of the thread's key.
        key: ThreadKey,
    },
}

/// A table with a time for each thread, in pairs of words: the time stamp counter, and a check of that and the thread's key. It is zero at first.
///
/// Threads whose keys lead to the same pair overwrite each other's times. Such a time is never taken for that of another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// Address of the table, a multiple of 16.
    pub at: u64,
    /// Number of pairs as a power of two, 1 to 24.
    pub pairs: u8,
}

/// The source of the number of the processor that a thread runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CpuSource {
    /// `rdpid`, on processors that have it.
    Rdpid,
    /// The limit of the segment 0x7b, in which Linux keeps the number (arch/x86/include/asm/segment.h, `__CPUNODE_SEG`).
    SegmentLimit,
    /// The word `cpu_id` of the thread's restartable sequence (rseq(2)), at this offset from fs.
    Rseq(i32),
}

/// The source of a thread's key: the base of fs, which the reader of a ring resolves to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThreadKey {
    /// `rdfsbase`, which Linux permits from 5.9 on (bit 1 of `AT_HWCAP2`).
    Rdfsbase,
    /// The word at fs:0, which holds the base of fs in programs of the System V ABI. It faults in a thread without a thread control block.
    Word,
}

/// A record for a ring of equal slots.
///
/// A slot has these words of eight bytes, in this order:
///
/// | word | content |
/// |---|---|
/// | 0 | the record's number, counted from 1; its complement while the record is incomplete |
/// | 1 | low half: `id`; high half: bit n is set if field n could be read |
/// | 2 | time stamp counter |
/// | 3 | the thread's key |
/// | 4 | number of the processor, in the low 12 bits; all ones without `rdtscp` |
/// | 5 … | the fields, each in as many words as it needs; what could not be read is undefined |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The ring.
    pub ring: Ring,
    /// A number that tells the reader which record it is; below 2³¹.
    pub id: u32,
    /// The source of the thread's key.
    pub key: ThreadKey,
    /// Whether the processor has `rdtscp`, which also tells the processor's number.
    pub rdtscp: bool,
    /// What else is recorded, at most 32 fields.
    pub fields: &'a [Field],
}

/// A field of a [`Record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// One of the first sixteen general registers, or rip.
    Register(Reg),
    /// The integer argument of this number, 0 to 5, by the System V ABI.
    Argument(u8),
    /// The word at the stack pointer: the return address, at the entry of a function.
    Return {
        /// The window, as that of [`Memory`].
        window: u64,
    },
    /// Memory of 1 to 64 bytes.
    Memory(Memory),
    /// The stack from the program's stack pointer on: a word with the number of words that were read, and room for `size` bytes.
    ///
    /// The words end at `size`, at the end of the initial thread's stack, at the base of fs, where those lie above the stack pointer (the
    /// thread control block lies above a thread's stack), and before the first one that cannot be read. That one faults at a
    /// [`Place`](super::Place) with a [`fixup`](super::Place::fixup).
    Stack {
        /// The most bytes: a multiple of 8, at most 32 KiB.
        size: u16,
        /// Address of an aligned word of eight bytes: the address at which the stack of the initial thread ends.
        end: u64,
    },
}

/// What happens to a record for which a ring has no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenFull {
    /// It is lost, and counted.
    Lose,
    /// The thread stops as by [`Action::Stop`], before the record has begun. If nobody takes the stop, the record is lost, uncounted.
    Stop,
    /// It takes the slot of the oldest record. The reader's count of slots does not matter. If the slot's own record is still incomplete, which
    /// takes a thread that was interrupted for a whole round of the ring, the new record is lost, and no slot has its number.
    Overwrite,
}

/// A ring of equal slots. Many threads write records, and one reader takes them.
///
/// Three aligned words of eight bytes steer it: at `control` the number of slots that were taken so far, at `control` + 64 the number of slots
/// that the reader has done with, at `control` + 128 the number of records that found no slot. The reader waits for word 0 of a slot to be
/// the number of the record, one more than that of the slot. A slot whose thread ended before that is the reader's to skip. With
/// [`WhenFull::Overwrite`] the reader looks at word 0 before and behind its copy of a slot.
///
/// From [`Progress::During`](crate::Progress::During) on, rsi of the thread is the address of its slot. A caller that makes such a thread begin
/// once more gives that slot up: it writes a complete record there that the reader ignores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Address of the control words, a multiple of 64.
    pub control: u64,
    /// Address of the slots, a multiple of 8.
    pub slots: u64,
    /// Number of slots as a power of two, at most 30.
    pub count: u8,
    /// Size of a slot in bytes as a power of two, 6 to 16.
    pub size: u8,
    /// What happens to a record for which there is no slot. A probe with [`WhenFull::Stop`] has no other action that stops.
    pub full: WhenFull,
}
