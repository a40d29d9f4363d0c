//! Trampolines count, compare, record and stop as a model of them says, and the program does what it does undisturbed.
#![cfg(target_arch = "x86_64")]

use crossing::Random;
use crossing::lockstep::{DATA_SIZE, Jumped, Lab, NOTES_SIZE, STACK_SIZE, State};
use crossing::semantics::state_for;
use insn::x86::{Flags, Reg, decode};
use trampoline::x86::{
    Action, Clause, CpuSource, Field, Memory, Probe, Record, Relation, Ring, Source, Subject, ThreadKey, Threads,
    WhenFull,
};

/// Code with flags and registers dead and alive at its start, with jumps inside, a call, and reads of the red zone.
const CODES: &[&[u8]] = &[
    // xor eax, eax; mov ecx, 5; mov edx, 6; mov esi, 7
    &[0x31, 0xc0, 0xb9, 5, 0, 0, 0, 0xba, 6, 0, 0, 0, 0xbe, 7, 0, 0, 0],
    // setc al; adc rbx, rcx; cmovo rdx, rsi
    &[0x0f, 0x92, 0xc0, 0x48, 0x11, 0xcb, 0x48, 0x0f, 0x40, 0xd6],
    // mov rax, [rsp - 128]; mov rcx, [rsp - 8]; lahf
    &[0x48, 0x8b, 0x44, 0x24, 0x80, 0x48, 0x8b, 0x4c, 0x24, 0xf8, 0x9f],
    // push rsi; pop rdi; pushfq; pop r8; push rsp
    &[0x56, 0x5f, 0x9c, 0x41, 0x58, 0x54],
    // test al, al; jz +2; inc ebx; dec ebx
    &[0x84, 0xc0, 0x74, 0x02, 0xff, 0xc3, 0xff, 0xcb],
    // mov eax, 1 (rax and flags: rax dead, flags alive); jc +0; nop
    &[0xb8, 1, 0, 0, 0, 0x72, 0x00, 0x90],
];

/// Where the probes' data lie in the notes.
const ARRIVALS: u64 = 0;
const COUNTER: u64 = 8;
const PER_CPU: u64 = 0x100;
const LOG2: u64 = 0x200;
const LINEAR: u64 = 0x500;
const THREADS: u64 = 0x600;
const RING: u64 = 0x800;
const WINDOWS: u64 = 0x900;
const ENDS: u64 = 0x940;
const ROW: u64 = 0xa00;
const ROW_SIZE: u64 = 8 * 69;
const SLOTS: u64 = 0x1000;

const REGISTERS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// Windows that memory is checked against: the data, half of the stack, everything, nothing.
fn windows(state: &State) -> [(u64, u64); 4] {
    let layout = state.layout;
    [(layout.data, DATA_SIZE), (layout.stack, STACK_SIZE / 2), (0, u64::MAX), (0, 0)]
}

/// Where the initial thread's stack is said to end: in the middle of the stack, at its end, nowhere.
fn ends(state: &State) -> [u64; 3] {
    let stack = state.layout.stack;
    [stack + STACK_SIZE / 2, stack + STACK_SIZE, 0]
}

fn register(state: &State, register: Reg) -> u64 {
    register.as_gpr().map_or(state.layout.site(), |number| state.gpr(number))
}

/// What a probe reads, where it can.
fn read(state: &State, memory: &Memory) -> Option<Vec<u8>> {
    let address = memory.base.map_or(0, |base| register(state, base)).wrapping_add_signed(memory.offset);
    let (start, length) = windows(state)[((memory.window - state.layout.notes - WINDOWS) / 16) as usize];
    let inside = address.checked_sub(start).and_then(|offset| offset.checked_add(memory.size.into()));
    inside.filter(|end| *end <= length)?;
    state.windows().into_iter().find_map(|(start, window)| {
        let offset = usize::try_from(address.checked_sub(start)?).ok()?;
        window.get(offset..offset.checked_add(memory.size.into())?).map(<[u8]>::to_vec)
    })
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The lowest `size` bytes of a number, as a signed one.
fn signed(left: u64, size: u8) -> i64 {
    let unused = 64 - 8 * u32::from(size);
    (left << unused) as i64 >> unused
}

fn low(left: u64, size: u8) -> u64 {
    left & u64::MAX >> (64 - 8 * u32::from(size))
}

fn holds(state: &State, clause: &Clause, arrivals: u64) -> bool {
    let (left, size) = match clause.subject {
        Subject::Register(of) => (register(state, of), 8),
        Subject::Part { register: of, size } => (low(register(state, of), size), size),
        Subject::Memory(memory) => match read(state, &memory) {
            Some(bytes) => (number(&bytes), memory.size),
            None => return false,
        },
        _ => (arrivals, 8),
    };
    match clause.relation {
        Relation::Equal => left == clause.value,
        Relation::NotEqual => left != clause.value,
        Relation::Below => left < clause.value,
        Relation::BelowOrEqual => left <= clause.value,
        Relation::Above => left > clause.value,
        Relation::AboveOrEqual => left >= clause.value,
        Relation::Less => signed(left, size) < clause.value as i64,
        Relation::LessOrEqual => signed(left, size) <= clause.value as i64,
        Relation::Greater => signed(left, size) > clause.value as i64,
        Relation::GreaterOrEqual => signed(left, size) >= clause.value as i64,
        Relation::AllOf => left & clause.value == clause.value,
        _ => left & clause.value != 0,
    }
}

/// The words of the stack that a record has, behind their number.
fn stack(state: &State, size: u16, end: u64, thread: u64) -> Vec<u8> {
    let start = register(state, Reg::RSP);
    let distances = [ends(state)[((end - state.layout.notes - ENDS) / 8) as usize], thread];
    let distances = distances.into_iter().filter_map(|end| end.checked_sub(start));
    let limit = distances.fold(size.into(), u64::min) / 8 * 8;
    let windows = state.windows();
    let word = |at: u64| {
        windows.iter().find_map(|(start, window)| {
            let offset = usize::try_from(at.checked_sub(*start)?).ok()?;
            window.get(offset..offset.checked_add(8)?)
        })
    };
    let words: Vec<&[u8]> = (start..start + limit).step_by(8).map_while(word).collect();
    [&(words.len() as u64).to_le_bytes(), &*words.concat()].concat()
}

struct Maker<'a> {
    state: &'a State,
    random: &'a mut Random,
    arrivals: u64,
}

impl Maker<'_> {
    fn memory(&mut self, sizes: &[u8]) -> Memory {
        let size = self.random.one_of(sizes);
        let window = self.state.layout.notes + WINDOWS + 16 * self.random.below(4);
        let offset = self.random.below(512) as i64 - 256;
        if self.random.one_in(6) {
            return Memory { base: None, offset: self.state.layout.data as i64 + 256 + offset, size, window };
        }
        let number = self.random.one_of(&REGISTERS);
        let offset = if self.random.one_in(8) { offset << 40 } else { offset };
        Memory { base: Some(Reg::gpr(number)), offset, size, window }
    }

    fn clause(&mut self) -> Clause {
        let subject = match self.random.below(8) {
            0 | 1 => Subject::Part {
                register: Reg::gpr(self.random.one_of(&REGISTERS)),
                size: self.random.one_of(&[1, 2, 4, 8]),
            },
            2 | 3 => Subject::Register(Reg::gpr(self.random.one_of(&REGISTERS))),
            4 => Subject::Register(Reg::RIP),
            5 => Subject::Arrivals,
            _ => Subject::Memory(self.memory(&[1, 2, 4, 8])),
        };
        let left = match subject {
            Subject::Register(of) => register(self.state, of),
            Subject::Part { register: of, size } => {
                let left = low(register(self.state, of), size);
                if self.random.one_in(2) { left } else { signed(left, size) as u64 }
            }
            Subject::Memory(memory) => {
                let left = read(self.state, &memory).map_or(0, |bytes| number(&bytes));
                if self.random.one_in(2) { left } else { signed(left, memory.size) as u64 }
            }
            _ => self.arrivals,
        };
        let value = match self.random.below(6) {
            0..=2 => left,
            3 => left.wrapping_add(1),
            4 => left & self.random.next(),
            _ => self.random.next() >> self.random.below(64),
        };
        let relations = [
            Relation::Equal,
            Relation::NotEqual,
            Relation::Below,
            Relation::BelowOrEqual,
            Relation::Above,
            Relation::AboveOrEqual,
            Relation::Less,
            Relation::LessOrEqual,
            Relation::Greater,
            Relation::GreaterOrEqual,
            Relation::AllOf,
            Relation::AnyOf,
        ];
        Clause { subject, relation: self.random.one_of(&relations), value }
    }

    fn field(&mut self) -> Field {
        match self.random.below(5) {
            4 => {
                let end = self.state.layout.notes + ENDS + 8 * self.random.below(3);
                Field::Stack { size: self.random.one_of(&[8, 24, 64]), end }
            }
            0 => Field::Argument(self.random.below(6) as u8),
            1 => Field::Register(self.random.one_of(&[Reg::RIP, Reg::RAX, Reg::RSP, Reg::RDX, Reg::gpr(13)])),
            2 => Field::Return { window: self.state.layout.notes + WINDOWS + 16 * self.random.below(4) },
            _ => Field::Memory(self.memory(&[1, 2, 3, 4, 7, 8, 13, 16, 40])),
        }
    }
}

fn word(notes: &[u8], at: u64) -> u64 {
    number(&notes[at as usize..at as usize + 8])
}

/// Fails if the record of the state is not as its fields say.
fn check_record(notes: &[u8], state: &State, record: &Record<'_>, taken: u64) -> Result<(), String> {
    let slot = SLOTS + (taken & 7) * 512;
    if word(notes, slot) != taken + 1 || notes[slot as usize + 8..][..4] != record.id.to_le_bytes() {
        return Err(format!("record {} is {:x?}", taken + 1, &notes[slot as usize..][..64]));
    }
    let readable = word(notes, slot + 8) >> 32;
    let key = match record.key {
        ThreadKey::Rdfsbase => state.regs.fs_base,
        _ => number(&state.data[0x1000..0x1008]),
    };
    let processor = word(notes, slot + 32);
    if word(notes, slot + 16) == 0 || word(notes, slot + 24) != key || (processor == u64::MAX) == record.rdtscp {
        return Err(format!("head of the record: {:x?}", &notes[slot as usize..][..40]));
    }
    let mut at = slot + 40;
    for (bit, field) in record.fields.iter().enumerate() {
        let arguments = [Reg::RDI, Reg::RSI, Reg::RDX, Reg::RCX, Reg::gpr(8), Reg::gpr(9)];
        let expected = match field {
            Field::Register(of) => Some(register(state, *of).to_le_bytes().to_vec()),
            Field::Argument(of) => Some(register(state, arguments[usize::from(*of)]).to_le_bytes().to_vec()),
            Field::Return { window } => {
                read(state, &Memory { base: Some(Reg::RSP), offset: 0, size: 8, window: *window })
            }
            Field::Memory(memory) => read(state, memory),
            Field::Stack { size, end } => Some(stack(state, *size, *end, key)),
            _ => None,
        };
        let size = match field {
            Field::Memory(memory) => u16::from(memory.size.div_ceil(8) * 8),
            Field::Stack { size, .. } => size + 8,
            _ => 8,
        };
        if (readable >> bit & 1 != 0) != expected.is_some() {
            return Err(format!("{field:x?} is {expected:x?}, readable: {readable:b}"));
        }
        let found = &notes[at as usize..];
        if expected.as_ref().is_some_and(|expected| *expected != found[..expected.len()]) {
            return Err(format!("{field:x?} is {expected:x?}, recorded: {:x?}", &found[..usize::from(size)]));
        }
        at += u64::from(size);
    }
    Ok(())
}

/// Whether the processor has `rdpid` (SDM vol. 2A, CPUID, leaf 7).
fn has_rdpid() -> bool {
    crossing::cpuid(7, 0).ecx >> 22 & 1 != 0
}

/// One code with one random probe.
fn check(lab: &mut Lab, random: &mut Random) -> Result<bool, String> {
    let code = random.one_of(CODES);
    let layout = lab.layout();
    let first = decode(code, lab.mode()).expect("an instruction");
    let mut state = state_for(lab, &first, random);
    // With alignment checks memory that is not aligned cannot be read.
    state.regs.eflags &= !u64::from(Flags::AC.bits());
    if random.one_in(2) {
        // The thread control block is said to lie right above the stack pointer.
        let block = register(&state, Reg::RSP) + random.below(64);
        state.data[0x1000..0x1008].copy_from_slice(&block.to_le_bytes());
    }
    let mut notes = vec![0; NOTES_SIZE as usize];
    let arrivals_before = random.below(4);
    let mut maker = Maker { state: &state, random, arrivals: arrivals_before + 1 };
    let alternatives: Vec<Vec<Clause>> =
        (0..maker.random.below(4)).map(|_| (0..maker.random.below(4)).map(|_| maker.clause()).collect()).collect();
    let condition: Vec<&[Clause]> = alternatives.iter().map(Vec::as_slice).collect();
    let fields: Vec<Field> = (0..maker.random.below(6)).map(|_| maker.field()).collect();
    let at = |offset| layout.notes + offset;
    let key = maker.random.one_of(&[ThreadKey::Rdfsbase, ThreadKey::Word]);
    let when_full = maker.random.one_of(&[WhenFull::Lose, WhenFull::Overwrite]);
    let overwrites = when_full == WhenFull::Overwrite;
    let record = Record {
        ring: Ring { control: at(RING), slots: at(SLOTS), count: 3, size: 9, full: when_full },
        id: maker.random.next() as u32,
        key,
        rdtscp: maker.random.one_in(2),
        fields: &fields,
    };
    let threads = Threads { at: at(THREADS), pairs: 4 };
    let histogram = Reg::gpr(maker.random.one_of(&REGISTERS));
    let value = register(&state, histogram);
    let low = value.wrapping_sub(maker.random.below(40));
    let width = maker.random.one_of(&[1, 3, 4, 10]);
    let source = Source::Register(histogram);
    let since = Source::Since { threads, key };
    let rdpid = if has_rdpid() { CpuSource::Rdpid } else { CpuSource::SegmentLimit };
    let cpu = maker.random.one_of(&[rdpid, CpuSource::SegmentLimit, CpuSource::Rseq(0x100)]);
    let all = [
        Action::Count { counter: at(COUNTER), atomic: maker.random.one_in(2) },
        Action::CountPerCpu { counters: at(PER_CPU), words: 2, stride: 6, source: cpu },
        Action::Record(record),
        Action::Log2 { buckets: at(LOG2), source },
        Action::Linear { buckets: at(LINEAR), low, width, count: 8, source },
        Action::Stamp { threads, key },
        Action::Linear { buckets: at(LINEAR), low: 0, width: 1 << 40, count: 8, source: since },
        Action::Stop,
        Action::Sum { row: at(ROW), source },
    ];
    let chosen: Vec<bool> = all.iter().map(|_| maker.random.one_in(3)).collect();
    let actions: Vec<Action> = all.iter().zip(&chosen).filter(|(_, chosen)| **chosen).map(|(one, _)| *one).collect();
    let probe = Probe { offset: 0, arrivals: Some(at(ARRIVALS)), condition: &condition, actions: &actions };
    let taken = maker.random.below(20);
    // In one of four runs the ring is full.
    let done = taken - if maker.random.one_in(4) { taken.min(8) } else { taken.min(7) };
    let keep_dead = maker.random.one_in(2);
    let mut put = |at: u64, value: u64| notes[at as usize..at as usize + 8].copy_from_slice(&value.to_le_bytes());
    // Low and high half of a sum, the complement of the least number, and the largest.
    let row = [0; 4].map(|_: u64| maker.random.next() >> maker.random.below(64));
    for (number, before) in (0..).zip(row) {
        put(ROW + 8 * number, before);
    }
    put(ARRIVALS, arrivals_before);
    put(RING, taken);
    put(RING + 64, done);
    // The slot may hold an old record, or one that is incomplete.
    let is_busy = overwrites && maker.random.one_in(4);
    if taken >= 8 {
        put(SLOTS + (taken & 7) * 512, if is_busy { !(taken - 7) } else { taken - 7 });
    }
    let is_busy = is_busy && taken >= 8;
    for (number, (start, length)) in (0..).zip(windows(&state)) {
        put(WINDOWS + 16 * number, start);
        put(WINDOWS + 16 * number + 8, length);
    }
    for (number, end) in (0..).zip(ends(&state)) {
        put(ENDS + 8 * number, end);
    }
    let probes = [probe];
    let jumped = Jumped { code, start: 0, probes: &probes, keep_dead };
    let fail = |error: std::io::Error| format!("{code:02x?} {probe:x?}: {error}");
    lab.note(layout.notes, &notes);
    lab.preload(&jumped, &mut state).map_err(fail)?;
    let expected = lab.undisturbed(&jumped, &state).map_err(fail)?;
    lab.note(layout.notes, &notes);
    let found = lab.through_jump(&jumped, &state, false).map_err(fail)?;
    let wrong = |what: String| Err(format!("{code:02x?} {probe:x?} keep_dead {keep_dead}: {what}"));
    let differences = expected.differences(&found.ending);
    if !differences.is_empty() && (keep_dead || expected.is_complete()) {
        return wrong(differences.join("; "));
    }
    let now = &found.notes;
    if word(now, ARRIVALS) != arrivals_before + 1 {
        return wrong(format!("{} arrivals", word(now, ARRIVALS)));
    }
    let hit = condition.is_empty()
        || condition.iter().any(|clauses| clauses.iter().all(|one| holds(&state, one, arrivals_before + 1)));
    // A probe that finds no stack is left to the caller, which here only counts the arrival.
    let is_same = |from: u64, to: u64| now[from as usize..to as usize] == notes[from as usize..to as usize];
    let is_left = found.faults > 0 && is_same(8, 0x800) && is_same(ROW, ROW + ROW_SIZE) && word(now, RING + 128) == 0;
    let does = |index: usize| u64::from(hit && chosen[index] && !is_left);
    let sum = |start: u64, count: u64| (0..count).map(|index| word(now, start + 8 * index)).sum::<u64>();
    let bucket = if value == 0 { 0 } else { u64::from(64 - value.leading_zeros()) };
    let linear = if value < low { 8 } else { ((value - low) / width).min(8) };
    let linear = if value < low {
        8
    } else if linear == 8 {
        9
    } else {
        linear
    };
    let full = !overwrites && taken - done == 8;
    let recorded = does(2) == 1 && !full && !is_busy;
    let time = does(6) & does(5);
    let summed = (u128::from(row[1]) << 64 | u128::from(row[0])).wrapping_add(u128::from(value) * u128::from(does(8)));
    let at_least = |before: u64, number: u64| before.max(number * does(8));
    for (what, found, expected) in [
        ("count", word(now, COUNTER), does(0)),
        ("counts per processor", (0..4).map(|cpu| word(now, PER_CPU + 64 * cpu)).sum(), does(1)),
        ("slots taken", word(now, RING), taken + u64::from(recorded || does(2) == 1 && is_busy)),
        ("records lost", word(now, RING + 128), u64::from(does(2) == 1 && full)),
        ("bucket", word(now, LOG2 + 8 * bucket), does(3)),
        ("buckets", sum(LOG2, 65), does(3)),
        ("low half of the sum", word(now, ROW), summed as u64),
        ("high half of the sum", word(now, ROW + 8), (summed >> 64) as u64),
        ("least", word(now, ROW + 16), at_least(row[2], !value)),
        ("largest", word(now, ROW + 24), at_least(row[3], value)),
        ("bucket of the row", word(now, ROW + 32 + 8 * bucket), does(8)),
        ("buckets of the row", sum(ROW + 32, 65), does(8)),
        ("linear buckets", sum(LINEAR, 10), does(4) + time),
        ("stops", found.stopped.len() as u64, does(7)),
    ] {
        if found != expected {
            return wrong(format!("{what}: {found}, expected {expected}; hit {hit}"));
        }
    }
    if does(4) == 1 && word(now, LINEAR + 8 * linear) == 0 {
        return wrong(format!("{value} is not in bucket {linear}"));
    }
    let slot = SLOTS + (taken & 7) * 512;
    if is_busy && word(now, slot) != word(&notes, slot) {
        return wrong(format!("an incomplete record became {:x}", word(now, slot)));
    }
    if recorded {
        if let Err(what) = check_record(now, &state, &record, taken) {
            return wrong(what);
        }
    }
    for stopped in &found.stopped {
        let flags = |state: &State| state.regs.eflags & u64::from(Flags::STATUS.bits());
        if stopped.regs.rip != layout.site() || keep_dead && flags(stopped) != flags(&state) {
            return wrong(format!("stopped at {:x?}", stopped.regs));
        }
        if keep_dead && REGISTERS.iter().any(|number| stopped.gpr(*number) != state.gpr(*number)) {
            return wrong(format!("stopped with {:x?} instead of {:x?}", stopped.regs, state.regs));
        }
    }
    let stops = actions.contains(&Action::Stop) && hit;
    if keep_dead && !stops && found.faults == 0 {
        lab.note(layout.notes, &notes);
        lab.step_through(&jumped, &state).map_err(fail)?;
    }
    Ok(hit)
}

#[test]
fn probes_do_what_their_model_says_and_the_program_does_not_see_them() {
    let mut lab = Lab::x86_64();
    let count = std::env::var("NTRACE_TRAMPOLINE_PROBES").ok().and_then(|text| text.parse().ok()).unwrap_or(400_u64);
    let mut random = Random::new(count);
    let (mut hits, mut wrong) = (0, Vec::new());
    for _ in 0..count {
        match check(&mut lab, &mut random) {
            Ok(hit) => hits += u64::from(hit),
            Err(what) => wrong.push(what),
        }
    }
    println!("{count} probes, {hits} hits");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
    assert!(hits > count / 4 && hits < count, "{hits} hits");
}
