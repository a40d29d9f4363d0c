/// The progress of a thread in a trampoline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Progress {
    /// The action has not begun, or there is none. The thread may continue at the program's pc.
    Before,
    /// The action has begun. A thread that continues at the program's pc leaves it incomplete (an incomplete record) or repeats it. A caller
    /// lets the thread go on to the next place with another progress: there are few instructions to it, and no loop waits for another thread.
    During,
    /// As [`Progress::Before`], but a record has its number, and no slot yet: in a ring that overwrites. If the thread continues at the program's
    /// pc, no slot ever has that number.
    Numbered,
    /// The thread has tried to take a slot of a ring: as [`Progress::During`] if its zero flag is set, and else as [`Progress::Before`], or, in a
    /// ring that overwrites, as [`Progress::Numbered`].
    DuringIfZero,
    /// The number of a row is added to the low half of the sum, and nothing else is done. The carry flag tells whether the high half lacks one. If a
    /// caller adds that, counts the number in its bucket and tells it to both ends, this is as [`Progress::Done`].
    Summing,
    /// As [`Progress::Summing`], with the high half.
    Summed,
    /// As [`Progress::Summed`], with the bucket: the least and the largest number of a row may lack the number. Both may be told it twice.
    Counted,
    /// The action is done or its condition did not hold, and the instruction is not done. A thread that continues at the program's pc tests
    /// the condition and acts once more.
    Done,
}
