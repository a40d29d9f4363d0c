//! The format is that of docs/recording.md; what is written is read; hostile bytes give errors.

mod trace;

use insn::x86::{Bits, Vendor};
use record::{
    Code, Event, EventKind, Header, Item, Machine, Mapping, Next, Problem, REGISTERS, Registers, Step, Writer, read,
};
use trace::{Random, items};

const START: [u8; 11] = [0x4e, 0x54, 0x52, 0x43, 0x0d, 0x0a, 0x1a, 0x0a, 1, 0, 1];

/// A header and records.
fn trace(records: &[(u8, &[u8])]) -> Vec<u8> {
    let mut bytes = START.to_vec();
    for (kind, payload) in records {
        bytes.push(*kind);
        assert!(payload.len() < 0x80);
        bytes.push(payload.len() as u8);
        bytes.extend_from_slice(payload);
    }
    bytes
}

/// Thread 7 of process 5 begins, in 64-bit mode.
const BEGIN: [(u8, &[u8]); 2] = [(3, &[7, 0, 5, 0]), (3, &[7, 1, 64])];

fn step(pc: u64, code: &[u8], next: Next) -> Item {
    Item::Step(Step { tid: 7, pid: 5, pc, code: Code::new(code), bits: Some(Bits::B64), next, registers: None })
}

#[test]
fn bytes_mean_what_the_documentation_says() {
    let code = [0x90, 0x75, 0xfd, 0xc3];
    let bytes = trace(&[
        BEGIN[0],
        BEGIN[1],
        (0x80, b"unknown"),
        (4, &[5, 0x40, 0x50, 0x30, b'/', b'a']),
        (2, &[5, 0x40, 0x90, 0x75, 0xfd, 0xc3]),
        // From 0x40 on: nop and jne, for the first time; then both as before; the nop, and jne to 0x43; ret, not completed.
        (1, &[7, 0x80, 1, 8, 4, 2, 4, 1, 2 << 3, 1 << 3 | 4, 4, 6][..]),
        (3, &[7, 3, 11, 1]),
        (3, &[7, 6, 11]),
        (5, &[7]),
    ]);
    let at = Next::At;
    let event = |kind| Item::Event(Event { tid: 7, pid: 5, kind });
    assert_eq!(
        items(&bytes),
        [
            event(EventKind::Started { by: 0 }),
            event(EventKind::Bits(Some(Bits::B64))),
            Item::Mapping(Mapping { pid: 5, start: 0x40, end: 0x50, base: 0x30, path: b"/a".to_vec() }),
            step(0x40, &code, at(0x41)),
            step(0x41, &code[1..], at(0x40)),
            step(0x40, &code, at(0x41)),
            step(0x41, &code[1..], at(0x40)),
            step(0x40, &code, at(0x41)),
            step(0x41, &code[1..], at(0x43)),
            step(0x43, &code[3..], Next::Unfinished),
            event(EventKind::Signal { number: 11, fault: true }),
            event(EventKind::Killed(11)),
        ]
    );
}

#[test]
fn registers_are_changes_in_the_documented_order() {
    // rflags 2, rax 5, gs base -1; then nothing changes.
    let mut bytes = trace(&[BEGIN[0], BEGIN[1], (1, &[7, 0, 4, 4, 2, 4, 2, 0x83, 0x80, 0x10, 4, 10, 1, 0])]);
    bytes[9] = 1;
    let steps: Vec<Registers> = read(&bytes)
        .unwrap()
        .filter_map(|item| if let Ok(Item::Step(step)) = item { step.registers } else { None })
        .collect();
    let mut expected = [0; REGISTERS];
    (expected[16], expected[0], expected[18]) = (2, 5, u64::MAX);
    assert_eq!(steps, [Registers(expected); 2]);
}

#[test]
fn what_is_wrong_is_told_with_offset_and_value() {
    let flow = |bytes: &[u8]| {
        let mut payload = vec![7, 0, bytes.len() as u8];
        payload.extend_from_slice(bytes);
        payload
    };
    for (record, payload, problem) in [
        (9, vec![], Problem::Record(9)),
        (1, vec![8, 0, 0], Problem::Thread(8)),
        (1, vec![7, 0, 1], Problem::ShortRecord),
        (1, flow(&[7]), Problem::Action(7)),
        (1, flow(&[8]), Problem::Successor { pc: 0, rank: 0 }),
        (1, flow(&[3, 99]), Problem::Successor { pc: 0, rank: 99 }),
        (1, flow(&[0xf8, 0xff, 0xff, 3]), Problem::LongRun(0xffff + 31)),
        (1, flow(&[4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]), Problem::LargeNumber(2)),
        (1, vec![7, 0, 0, 1], Problem::Excess(1)),
        (2, [vec![5, 0x40], vec![0x90; 65]].concat(), Problem::LongCode(65)),
        (2, vec![0xff, 0xff, 0xff, 0xff, 0x10], Problem::LargeId(0x1_0fff_ffff)),
        (3, vec![7, 1, 17], Problem::Bits(17)),
        (3, vec![7, 99], Problem::Event(99)),
        (3, vec![7, 4, 4], Problem::Excess(1)),
        (5, vec![3], Problem::Count { told: 3, seen: 0 }),
    ] {
        let bytes = trace(&[BEGIN[0], BEGIN[1], (record, &payload)]);
        let error = read(&bytes).unwrap().find_map(Result::err).expect("an error");
        assert_eq!((error.offset, &error.problem), (22, &problem), "{payload:02x?}");
        assert!(error.to_string().starts_with("at byte 22: "), "{error}");
    }
    for (at, byte, problem) in [
        (0, 0x7f, Problem::NotATrace([0x7f, 0x54, 0x52, 0x43, 0x0d, 0x0a, 0x1a, 0x0a])),
        (8, 2, Problem::Version(2)),
        (9, 2, Problem::Flags(2)),
        (10, 2, Problem::Machine(2)),
    ] {
        let mut bytes = START;
        bytes[at] = byte;
        assert_eq!(read(&bytes).err().map(|error| error.problem), Some(problem));
    }
    let huge = [&START[..], &[1, 0x81, 0x80, 0x40]].concat();
    let error = read(&huge).unwrap().find_map(Result::err).map(|error| error.problem);
    assert_eq!(error, Some(Problem::LongRecord((1 << 20) + 1)));
}

/// A random trace in order, as a recorder would give it, and its bytes.
fn random(seed: u64, registers: bool) -> (Vec<Item>, Vec<u8>) {
    let mut random = Random::new(seed);
    let mut below = |limit: u64| random.next() % limit;
    let mut given = Vec::new();
    let machine = if seed & 2 == 0 { Machine::X86(Vendor::Intel) } else { Machine::Arm64 };
    let header = Header { machine, registers };
    let held = machine.register_names().len();
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, header).unwrap();
    let mut give = |writer: &mut Writer<_>, item: Item| {
        writer.item(&item).unwrap();
        given.push(item);
    };
    let code: Vec<u8> = (0..80).map(|_| below(256) as u8).collect();
    let base = below(u64::MAX);
    let mut pcs = [base; 2];
    for tid in [3, 4] {
        give(&mut writer, Item::Event(Event { tid, pid: 3, kind: EventKind::Started { by: 0 } }));
    }
    for _ in 0..2000 {
        let at = below(2) as usize;
        let tid = 3 + at as u32;
        if below(30) == 0 {
            let kind = [EventKind::Syscall(below(500)), EventKind::Signal { number: 5, fault: true }, EventKind::Moved];
            give(&mut writer, Item::Event(Event { tid, pid: 3, kind: kind[below(3) as usize] }));
            pcs[at] = base.wrapping_add(below(64));
            continue;
        }
        let pc = pcs[at];
        let place = pc.wrapping_sub(base) as usize;
        // Mostly on, often back to a few places, sometimes anywhere.
        let next = match below(8) {
            0 => base.wrapping_add(below(64)),
            1 => base,
            2 => pc,
            _ => base.wrapping_add((place as u64 + 1) % 64),
        };
        let next = match below(50) {
            0 => Next::Unfinished,
            1 => Next::Unseen(next),
            _ => Next::At(next),
        };
        if let Next::At(next) | Next::Unseen(next) = next {
            pcs[at] = next;
        }
        let code = Code::new(&code[place..place + 15]);
        let registers = registers.then(|| {
            Registers(std::array::from_fn(|at| match below(3) {
                _ if at >= held => 0,
                0 => below(u64::MAX),
                _ => 1,
            }))
        });
        give(&mut writer, Item::Step(Step { tid, pid: 3, pc, code, bits: None, next, registers }));
    }
    writer.finish().unwrap();
    drop(writer);
    (given, bytes)
}

/// Items without their order among threads, which events alone keep.
fn of_thread(items: &[Item], wanted: u32) -> Vec<&Item> {
    let tid = |item: &Item| match item {
        Item::Step(step) => step.tid,
        Item::Event(event) => event.tid,
        _ => 0,
    };
    items.iter().filter(|item| tid(item) == wanted).collect()
}

#[test]
fn what_is_written_is_read() {
    for seed in 0..20 {
        let (given, bytes) = random(seed, seed % 2 == 0);
        let read = items(&bytes);
        assert_eq!(read.len(), given.len());
        for tid in [3, 4] {
            // Code is told once, and then known of every instruction it reaches.
            let same = of_thread(&read, tid).into_iter().zip(of_thread(&given, tid)).all(|pair| match pair {
                (Item::Step(read), Item::Step(given)) => {
                    read == &Step { code: read.code, ..*given } && read.code.bytes().starts_with(given.code.bytes())
                }
                (read, given) => read == given,
            });
            assert!(same, "thread {tid}, seed {seed}");
        }
    }
}

#[test]
fn code_that_changes_is_told_before_it_runs_and_after_what_ran_before() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, Header { machine: Machine::X86(Vendor::Amd), registers: false }).unwrap();
    let mut given = Vec::new();
    for tid in [3, 4] {
        writer.event(&Event { tid, pid: 3, kind: EventKind::Started { by: 0 } }).unwrap();
    }
    for round in 0..10 {
        for tid in [3, 4] {
            let code = Code::new(&[0xb8, round / 3, 0, 0, 0]);
            let step = Step { tid, pid: 3, pc: 0x1000, code, bits: None, next: Next::At(0x1000), registers: None };
            writer.item(&Item::Step(step)).unwrap();
            given.push(Item::Step(step));
        }
    }
    writer.finish().unwrap();
    drop(writer);
    for tid in [3, 4] {
        assert_eq!(of_thread(&items(&bytes), tid)[1..], of_thread(&given, tid));
    }
}

#[test]
fn a_cut_trace_is_read_to_the_cut() {
    let (given, bytes) = random(1, false);
    let mut longest = 0;
    for end in START.len()..bytes.len() {
        let mut count = 0;
        let mut error = None;
        for item in read(&bytes[..end]).unwrap() {
            match item {
                Ok(_) => count += 1,
                Err(wrong) => error = Some(wrong),
            }
        }
        assert!(error.is_some_and(|error| error.is_cut()), "{end}");
        assert!(count >= longest);
        longest = count;
    }
    assert_eq!(longest, given.len());
}

#[test]
fn no_bytes_make_the_reader_panic_or_go_on_for_ever() {
    let (_, bytes) = random(2, true);
    let mut random = Random::new(3);
    for _ in 0..20_000 {
        let mut bytes = bytes[..1000].to_vec();
        for _ in 0..1 + random.next() % 4 {
            let at = random.next() as usize % bytes.len();
            bytes[at] = random.next() as u8;
        }
        if let Ok(reader) = read(&bytes) {
            // A token of four bytes stands for 4095 steps at most.
            assert!(reader.count() <= bytes.len() * 4096);
        }
    }
}
