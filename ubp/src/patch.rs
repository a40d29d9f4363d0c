//! The instruction at the site of a breakpoint: one that traps, or a jump.

use std::fmt;

use crate::Address;

/// The instruction that stands at the site of a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Patch {
    /// A jump where one is right and fast, otherwise a breakpoint instruction. [`Breakpoint::no_jump`](crate::Breakpoint::no_jump) tells why it
    /// is not a jump.
    Auto,
    /// A jump to code that counts the arrival, and tests the condition, in some nanoseconds. A thread traps only if the condition holds, or reads
    /// inaccessible memory; the tracer then tests it once more. On arm64 the code only counts. The breakpoint is refused where there can be none.
    Jump,
    /// A breakpoint instruction: each hit enters the kernel, and the tracer handles it.
    #[default]
    Trap,
}

/// Why a breakpoint instruction stands at a site, and no jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoJump {
    /// The breakpoint, or another one at its site, asks for a breakpoint instruction.
    Asked,
    /// The session's mechanism has no jumps.
    Mechanism,
    /// The program is one of 32-bit x86.
    Architecture,
    /// On arm64 the code of a jump only counts. The breakpoint, or another one at its site, has a condition or records hits.
    OnlyCounts,
    /// The breakpoint, or another one at its site, reports every hit by an event.
    Event,
    /// The conditions of the breakpoints at the site have too many comparisons.
    Condition,
    /// The condition of the breakpoint, or of another one at its site, asks for the number of arrivals.
    Arrivals,
    /// The condition or the record of the breakpoint, or of another one at its site, has memory, which may be inaccessible. The process outlives the
    /// tracer, if that is killed, and no handler can answer that then: it ignores `SIGSEGV` or `SIGBUS`, or handles one of them once.
    Memory,
    /// The breakpoint, or another one at its site, records hits, and another one does not.
    Records,
    /// Hits are added to aggregations in a way in which the code of a jump cannot: to several, or not all hits, or at a site where another breakpoint
    /// records or has a condition.
    Sums,
    /// The processor or the kernel lacks what records need: `rdtscp`, a time stamp counter that never stops, or `rdfsbase` for programs.
    Processor,
    /// The breakpoint, or another one at its site, removes itself at its first hit, and has no condition.
    Once,
    /// The breakpoint, or another one at its site, is one of a single thread.
    OneThread,
    /// The tracer itself needs threads to trap at the site: it is where the loader reports libraries, or where a thread is to run to.
    Tracer,
    /// The code is not that of a file, or the program may write to it.
    NotOfFile,
    /// The mapping ends within the bytes that a jump replaces.
    End,
    /// A breakpoint instruction stands at this address, which a jump would replace.
    TooClose(Address),
    /// The branch, or the call that returns, at this address leads into the bytes that a jump would replace.
    BranchTarget(Address),
    /// Threads entered the bytes that the jump replaced, again and again.
    Entered,
    /// The instruction at this address, which a jump would replace, is a breakpoint instruction of the program's own.
    OwnTrap(Address),
    /// The instruction at this address, which a jump would replace, enters the kernel.
    SystemCall(Address),
    /// A copy of the instruction at this address cannot run without the tracer. The process outlives the tracer, if that is killed.
    NeedsTracer(Address),
    /// There can be no code for the jump to lead to.
    Trampoline(trampoline::x86::Refusal),
    /// There can be no code for the branch to lead to, on arm64.
    TrampolineArm64(trampoline::arm64::Refusal),
    /// No free memory lies where the jump leads, or where its code must lie.
    NoRoom,
    /// The process is under seccomp(2), which may kill it for the system calls that map memory.
    Confined,
    /// Hits of a process that shares the memory, and that the session does not follow, would be counted
    /// ([`Options::follow_forks`](crate::Options::follow_forks)).
    Unfollowed,
    /// A thread could not be stopped while the code changes.
    Unstoppable,
}

impl fmt::Display for NoJump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoJump::Asked => f.write_str("a breakpoint instruction was asked for"),
            NoJump::Mechanism => f.write_str("the back end has no jumps"),
            NoJump::Architecture => f.write_str("only programs of 64 bits can have jumps"),
            NoJump::OnlyCounts => f.write_str("the code of a jump only counts on arm64"),
            NoJump::Event => f.write_str("every hit is an event"),
            NoJump::Condition => f.write_str("the condition has too many comparisons"),
            NoJump::Arrivals => f.write_str("the condition asks for the number of arrivals"),
            NoJump::Memory => {
                f.write_str("memory would be read, and a process that outlives the tracer ignores SIGSEGV or SIGBUS")
            }
            NoJump::Records => f.write_str("one breakpoint at the site records, another one does not"),
            NoJump::Sums => f.write_str("the code of a jump cannot sum these hits up"),
            NoJump::Processor => f.write_str("the processor or the kernel lacks what records need"),
            NoJump::Once => f.write_str("the breakpoint removes itself"),
            NoJump::OneThread => f.write_str("the breakpoint is one of a single thread"),
            NoJump::Tracer => f.write_str("the tracer itself needs a trap there"),
            NoJump::NotOfFile => f.write_str("the code is not that of a file, or is writable"),
            NoJump::End => f.write_str("the code ends too soon"),
            NoJump::TooClose(other) => write!(f, "the breakpoint at {other} is too close"),
            NoJump::BranchTarget(from) => write!(f, "the branch at {from} leads into the jump"),
            NoJump::Entered => f.write_str("threads entered the jump"),
            NoJump::OwnTrap(at) => write!(f, "the program has a breakpoint instruction at {at}"),
            NoJump::SystemCall(at) => write!(f, "the instruction at {at} enters the kernel"),
            NoJump::NeedsTracer(at) => write!(f, "a copy of the instruction at {at} needs the tracer"),
            NoJump::Trampoline(refusal) => fmt::Display::fmt(refusal, f),
            NoJump::TrampolineArm64(refusal) => fmt::Display::fmt(refusal, f),
            NoJump::NoRoom => f.write_str("no memory is free where the jump leads"),
            NoJump::Confined => {
                f.write_str("the process is under seccomp, and CAP_SYS_ADMIN is needed to suspend that")
            }
            NoJump::Unfollowed => f.write_str("processes in the same memory that are not followed would be counted"),
            NoJump::Unstoppable => f.write_str("a thread could not be stopped"),
        }
    }
}
