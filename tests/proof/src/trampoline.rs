//! Trampolines at any address, of any bytes and probes.

use core::hint::black_box;

use insn::x86::{Mode, Reg};
use trampoline::x86::{
    Action, Clause, CpuSource, Displacement, Field, Memory, Place, Probe, Record, Relation, Ring, Site, Source,
    Subject, ThreadKey, Threads, Trap, WhenFull, covered, jump, mirror_jump, place,
};

use crate::Thread;

/// Displacements, jumps, trampolines, and places in them.
///
/// # Safety
/// `bytes` points to `length` bytes, and `numbers` to 8 numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trampoline_everything(
    bytes: *const u8,
    length: usize,
    number: u8,
    numbers: *const u64,
    code: *mut u8,
    room: usize,
) {
    // SAFETY: the caller's promise.
    let (bytes, [pc, at, a, b, c, d, e, f]) =
        unsafe { (core::slice::from_raw_parts(bytes, length), *numbers.cast::<[u64; 8]>()) };
    // SAFETY: the caller owns `room` bytes there.
    let code = unsafe { core::slice::from_raw_parts_mut(code, room) };
    let mode = match number & 3 {
        0 => Mode::INTEL_32,
        1 => Mode::AMD_64,
        2 => Mode::AMD_64.lenient(),
        _ => Mode::INTEL_64,
    };
    let site = Site { pc, code: bytes, mode, shadow_stack: a & 1 != 0, keep_dead: a & 2 != 0 };
    let memory = Memory { base: (b != 0).then_some(Reg::gpr(b as u8)), offset: c as i64, size: d as u8, window: e };
    let subject = match a & 0x30 {
        0 => Subject::Register(Reg::from_number(f as u8)),
        0x10 => Subject::Memory(memory),
        0x20 => Subject::Part { register: Reg::from_number(f as u8), size: d as u8 },
        _ => Subject::Arrivals,
    };
    const RELATIONS: [Relation; 16] = [
        Relation::Equal,
        Relation::NotEqual,
        Relation::Below,
        Relation::BelowOrEqual,
        Relation::Above,
        Relation::AboveOrEqual,
        Relation::AllOf,
        Relation::AnyOf,
        Relation::Less,
        Relation::LessOrEqual,
        Relation::Greater,
        Relation::GreaterOrEqual,
        Relation::Less,
        Relation::LessOrEqual,
        Relation::Greater,
        Relation::GreaterOrEqual,
    ];
    let relation = RELATIONS[(a >> 8 & 15) as usize];
    let clause = [Clause { subject, relation, value: b }];
    let key = if a & 4 != 0 { ThreadKey::Rdfsbase } else { ThreadKey::Word };
    let threads = Threads { at: c, pairs: d as u8 };
    let source = if a & 8 != 0 { Source::Register(Reg::gpr(e as u8)) } else { Source::Since { threads, key } };
    let fields = [
        Field::Register(Reg::gpr(f as u8)),
        Field::Argument(f as u8),
        Field::Return { window: c },
        Field::Memory(memory),
    ];
    let full = match a >> 13 & 3 {
        0 => WhenFull::Lose,
        1 => WhenFull::Stop,
        _ => WhenFull::Overwrite,
    };
    let ring = Ring { control: c, slots: d, count: e as u8, size: f as u8, full };
    let record = Record { ring, id: b as u32, key, rdtscp: a & 0x40 != 0, fields: &fields };
    let cpu = if a & 0x80 != 0 { CpuSource::Rdpid } else { CpuSource::Rseq(f as i32) };
    let actions = [
        Action::Count { counter: b, atomic: a & 0x8000 != 0 },
        Action::CountPerCpu { counters: c, words: d as u8, stride: e as u8, source: cpu },
        Action::Record(record),
        Action::Log2 { buckets: b, source },
        Action::Linear { buckets: b, low: c, width: d, count: e as u32, source },
        Action::Sum { row: b, source },
        Action::Stamp { threads, key },
        Action::Stop,
    ];
    let condition: [&[Clause]; 2] = [&clause, &clause];
    let arrivals = (a & 0x1000 != 0).then_some(e);
    let probe = Probe { offset: f as u8, arrivals, condition: &condition, actions: &actions };
    let mut places = [Place::EMPTY; 256];
    match site.assemble(&[probe, Probe::default()], at, code, &mut places) {
        Ok(trampoline) => {
            black_box((trampoline.at(), trampoline.len(), trampoline.places(), trampoline.run_len()));
            black_box((trampoline.entry(a as u8), trampoline.copy(a as u8), trampoline.stopped(a)));
            black_box(trampoline.boundaries().count());
        }
        Err(reason) => {
            black_box(reason.number());
        }
    }
    if let Some(place) = place(&places, a as u16) {
        let _ = black_box(place.restore(&mut Thread, &mut Thread));
    }
    for displacement in Displacement::new(a as i32).into_iter().chain(Displacement::candidates().take(b as usize)) {
        black_box((displacement.mirror(pc), displacement.mirror_of(&(pc..at)), jump(displacement)));
        let _ = black_box(mirror_jump(pc, at));
        black_box((covered(pc, displacement, Trap::Undefined, at), covered(pc, displacement, Trap::Breakpoint, at)));
    }
}

/// The same of A64.
///
/// # Safety
/// `code` points to `length` words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trampoline_arm64_everything(code: *const u32, length: usize, numbers: *const u64) {
    use trampoline::arm64::{Site, branch};
    // SAFETY: the caller's promise.
    let (code, [pc, at, counter, index, flags]) =
        unsafe { (core::slice::from_raw_parts(code, length), *numbers.cast::<[u64; 5]>()) };
    let site = Site {
        pc,
        code,
        index: index as usize,
        guarded: flags & 1 != 0,
        control_stack: flags & 4 != 0,
        atomics: flags & 2 != 0,
    };
    let _ = black_box(branch(pc, at));
    if let Ok(trampoline) = site.count(counter, at) {
        black_box((trampoline.words(), trampoline.copy()));
        if let Some(place) = trampoline.place(flags as u16) {
            let _ = black_box(place.restore(&mut Thread, &mut Thread));
        }
    }
}
