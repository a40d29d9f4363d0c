use crate::record::ARGUMENTS;
use crate::{Address, AggregationId, Arch, Condition, InsertReason, NoJump, Patch, Tid};

/// What happens at a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Report {
    /// Hold the thread and deliver an event.
    #[default]
    Event,
    /// Count the hit; the thread continues at once.
    Count,
    /// Record the hit for [`Session::take_records`](crate::Session::take_records); the thread continues at once.
    Record,
}

/// A breakpoint to insert.
///
/// ```
/// use ubp::{Address, Comparison, Operand, Spec};
///
/// // Hold a thread at the third arrival, and never again.
/// let third = Operand::Arrivals.is(Comparison::Equal, 3);
/// let spec = Spec::event(Address(0x401000)).when(third).once();
/// assert!(spec.once && spec.condition.is_some());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Spec {
    /// Address of the first byte of an instruction.
    pub address: Address,
    /// What happens at a hit.
    pub report: Report,
    /// The condition that makes an arrival a hit; with `None` every arrival is a hit.
    pub condition: Option<Condition>,
    /// Number of first hits that are counted but not reported.
    pub ignore: u64,
    /// The breakpoint removes itself at the first hit that is not ignored. [`Breakpoint`](crate::Breakpoint) keeps the counts, inactive.
    pub once: bool,
    /// The only thread whose arrivals count. In a forked child the breakpoint has no thread and is never hit.
    pub thread: Option<Tid>,
    /// The arguments at which a record has the memory, up to 64 bytes: bit 0 stands for the first, bit 5 for the last.
    pub text: u8,
    /// Whether a record has the general registers and the stack, up to [`Buffer::stack`](crate::Buffer::stack) bytes.
    pub stack: bool,
    /// The instruction that stands at the address. Only a breakpoint that counts, records or has a condition, without a thread, can have a jump.
    pub patch: Patch,
    /// The aggregation to which its hits are added, but for ignored ones. It belongs to the same session.
    pub aggregation: Option<AggregationId>,
}

impl Spec {
    /// A breakpoint that holds the thread at every arrival at `address`.
    pub fn event(address: Address) -> Spec {
        Spec { address, ..Spec::default() }
    }

    /// A breakpoint that counts arrivals at `address`.
    pub fn count(address: Address) -> Spec {
        Spec { address, report: Report::Count, ..Spec::default() }
    }

    /// A breakpoint that records arrivals at `address`.
    pub fn record(address: Address) -> Spec {
        Spec { address, report: Report::Record, ..Spec::default() }
    }

    /// The breakpoint whose records have the memory at each argument.
    pub fn with_text(self) -> Spec {
        Spec { text: (1 << ARGUMENTS) - 1, ..self }
    }

    /// The breakpoint whose records have the memory at the arguments with these numbers, from 0 to 5. A jump whose code reads where no memory is
    /// stops its thread: numbers that are no addresses are best left out.
    pub fn with_text_of(self, arguments: impl IntoIterator<Item = usize>) -> Spec {
        let known = arguments.into_iter().filter(|argument| *argument < ARGUMENTS);
        Spec { text: known.fold(self.text, |text, argument| text | 1 << argument), ..self }
    }

    /// The breakpoint whose records have the general registers and the stack, from which the callers can be found.
    pub fn with_stack(self) -> Spec {
        Spec { stack: true, ..self }
    }

    /// The breakpoint with `report` at a hit.
    pub fn report(self, report: Report) -> Spec {
        Spec { report, ..self }
    }

    /// The breakpoint with a condition, in place of the one that it has.
    pub fn when(self, condition: Condition) -> Spec {
        Spec { condition: Some(condition), ..self }
    }

    /// The breakpoint whose first `hits` hits are not reported.
    pub fn ignore(self, hits: u64) -> Spec {
        Spec { ignore: hits, ..self }
    }

    /// The breakpoint that removes itself at its first hit that is not ignored.
    pub fn once(self) -> Spec {
        Spec { once: true, ..self }
    }

    /// The breakpoint of one thread.
    pub fn thread(self, tid: Tid) -> Spec {
        Spec { thread: Some(tid), ..self }
    }

    /// The breakpoint whose hits are added to an aggregation of the session.
    pub fn aggregate(self, id: AggregationId) -> Spec {
        Spec { aggregation: Some(id), ..self }
    }

    /// The breakpoint with this instruction at its address.
    pub fn patch(self, patch: Patch) -> Spec {
        Spec { patch, ..self }
    }

    /// Why the breakpoint cannot be one by a jump, whatever its address.
    pub(crate) fn no_jump(&self) -> Option<NoJump> {
        match self {
            Spec { patch: Patch::Trap, .. } => Some(NoJump::Asked),
            Spec { report: Report::Event, condition: None, .. } => Some(NoJump::Event),
            Spec { once: true, condition: None, .. } => Some(NoJump::Once),
            Spec { thread: Some(_), .. } => Some(NoJump::OneThread),
            Spec { condition: Some(condition), .. } if condition.counts_arrivals() => Some(NoJump::Arrivals),
            _ => None,
        }
    }

    /// Whether the code of a jump records every arrival.
    pub(crate) fn records_all(&self) -> bool {
        self.report == Report::Record && self.condition.is_none()
    }

    /// Whether each arrival is counted or summed up, and nothing else.
    pub(crate) fn only_counts(&self) -> bool {
        self.report == Report::Count && self.condition.is_none()
    }

    /// Whether a hit is recorded or summed up.
    pub(crate) fn acts(&self) -> bool {
        self.report == Report::Record || self.aggregation.is_some()
    }

    /// Whether the number `hits` of a hit is one that is not ignored.
    pub(crate) fn is_told(&self, hits: u64) -> bool {
        hits > self.ignore
    }

    /// Refuses what no process of the architecture with these threads can have.
    pub(crate) fn check(&self, arch: Arch, has_thread: impl Fn(Tid) -> bool) -> Result<(), InsertReason> {
        if let Some(tid) = self.thread.filter(|&tid| !has_thread(tid)) {
            return Err(InsertReason::NoSuchThread(tid));
        }
        if let Some(reason) = self.no_jump().filter(|_| self.patch == Patch::Jump) {
            return Err(InsertReason::NoJump(reason));
        }
        self.condition.as_ref().map_or(Ok(()), |condition| condition.check(arch)).map_err(InsertReason::Condition)
    }
}
