//! The code that counts. It leaves the sixteen bytes below the stack pointer as they are.

use crate::Progress;

/// An instruction that counts, with what has happened before it.
pub(super) struct Step {
    pub(super) word: u32,
    /// Bytes that were pushed.
    pub(super) stack: u8,
    /// Registers that were pushed.
    pub(super) saved: u8,
    pub(super) progress: Progress,
}

const fn step(word: u32, stack: u8, saved: u8, progress: Progress) -> Step {
    Step { word, stack, saved, progress }
}

/// By an atomic addition (FEAT_LSE).
pub(super) const ATOMIC: [Step; 5] = [
    // stp x16, x17, [sp, #-32]!
    step(0xa9be_47f0, 0, 0, Progress::Before),
    // ldr x16, counter
    step(LOAD_COUNTER, 32, 2, Progress::Before),
    // mov x17, #1
    step(0xd280_0031, 32, 2, Progress::Before),
    // stadd x17, [x16]
    step(0xf831_021f, 32, 2, Progress::Before),
    // ldp x16, x17, [sp], #32
    step(0xa8c2_47f0, 32, 2, Progress::Done),
];

/// By a loop of exclusive accesses.
pub(super) const EXCLUSIVE: [Step; 9] = [
    // stp x16, x17, [sp, #-48]!
    step(0xa9bd_47f0, 0, 0, Progress::Before),
    // str x15, [sp, #16]
    step(0xf900_0bef, 48, 2, Progress::Before),
    // ldr x16, counter
    step(LOAD_COUNTER, 48, 3, Progress::Before),
    // ldxr x17, [x16]
    step(0xc85f_7e11, 48, 3, Progress::Before),
    // add x17, x17, #1
    step(0x9100_0631, 48, 3, Progress::Before),
    // stxr w15, x17, [x16]
    step(0xc80f_7e11, 48, 3, Progress::Before),
    // cbnz w15, .-12
    step(0x35ff_ffaf, 48, 3, Progress::During),
    // ldr x15, [sp, #16]
    step(0xf940_0bef, 48, 3, Progress::Done),
    // ldp x16, x17, [sp], #48
    step(0xa8c3_47f0, 48, 2, Progress::Done),
];

/// `ldr x16, .`, whose distance is filled in.
pub(super) const LOAD_COUNTER: u32 = 0x5800_0010;
