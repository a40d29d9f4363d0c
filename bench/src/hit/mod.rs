//! The cost of a hit that a trampoline takes: a function of some nanoseconds, called in a loop, with and without a jump at its entry.

mod ground;

use anyhow::Result;
use insn::x86::{Mode, Reg};
use trampoline::x86::{
    Action, Clause, CpuSource, Field, Probe, Record, Relation, Ring, Source, Subject, ThreadKey, WhenFull,
};

use crate::options::Options;
use crate::rounds::{self, Measured, Subject as Measurement};
use ground::{Function, Ground};

/// Calls in a round.
const CALLS: u64 = 400_000;
const UNPROBED: &str = "unprobed";

/// A function of which flags and rax are dead at the entry: xor %eax, %eax; mov $20, %ecx; 1: dec %ecx; jnz 1b; ret.
const FLAGS_DEAD: &[u8] = &[0x31, 0xc0, 0xb9, 20, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3];
/// Flags are alive, rax is dead: mov $0, %eax; mov $20, %ecx; setc %al; 1: dec %ecx; jnz 1b; ret.
const RAX_DEAD: &[u8] = &[0xb8, 0, 0, 0, 0, 0xb9, 20, 0, 0, 0, 0x0f, 0x92, 0xc0, 0xff, 0xc9, 0x75, 0xfc, 0xc3];
/// Both are alive: mov $20, %ecx; adc $0, %rax; 1: dec %ecx; jnz 1b; ret.
const ALL_ALIVE: &[u8] = &[0xb9, 20, 0, 0, 0, 0x48, 0x83, 0xd0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3];

/// Runs the benchmark: a table for each function, with the nanoseconds that a hit adds.
pub(crate) fn run(options: &Options) -> Result<()> {
    for (title, code) in
        [("flags and rax dead", FLAGS_DEAD), ("flags alive, rax dead", RAX_DEAD), ("flags and rax alive", ALL_ALIVE)]
    {
        table(title, code, options)?;
    }
    Ok(())
}

fn table(title: &str, code: &[u8], options: &Options) -> Result<()> {
    let ground = Ground::new(Mode::INTEL_64)?;
    let data = ground.data();
    let wanted = |name: &str| name == UNPROBED || options.only.as_deref().is_none_or(|only| name.contains(only));
    let atomic = [Action::Count { counter: data, atomic: true }];
    let plain = [Action::Count { counter: data, atomic: false }];
    let per_cpu =
        [Action::CountPerCpu { counters: data + 0x1000, words: 3, stride: 6, source: CpuSource::SegmentLimit }];
    let histogram = [Action::Log2 { buckets: data + 0x2000, source: Source::Register(Reg::RDI) }];
    let sum = [Action::Sum { row: data + 0x2800, source: Source::Register(Reg::RDI) }];
    let fields = [Field::Argument(0), Field::Argument(1), Field::Argument(2)];
    let ring = Ring { control: data + 0x4000, slots: data + 0x5000, count: 6, size: 7, full: WhenFull::Lose };
    let records = [Action::Record(Record { ring, id: 1, key: ThreadKey::Word, rdtscp: true, fields: &fields })];
    // The word for the end of the stack is 0.
    let stack = Field::Stack { size: 2048, end: data + 0x3000 };
    let stack: Vec<Field> = (0..16).map(|number| Field::Register(Reg::gpr(number))).chain([stack]).collect();
    let ring_of_stacks = Ring { slots: data + 0x4_0000, size: 12, ..ring };
    let record_of_stack =
        Record { ring: ring_of_stacks, id: 2, key: ThreadKey::Rdfsbase, rdtscp: true, fields: &stack };
    let stacks = [Action::Record(record_of_stack)];
    let never = [Clause { subject: Subject::Register(Reg::RDI), relation: Relation::Equal, value: 12345 }];
    let never: [&[Clause]; 1] = [&never];
    let with = |actions| Probe { actions, ..Probe::default() };
    let probes = [
        ("count, not atomic", with(&plain[..])),
        ("count", with(&atomic)),
        ("count per processor", with(&per_cpu)),
        ("condition that does not hold", Probe { condition: &never, ..with(&atomic) }),
        ("histogram of an argument", with(&histogram)),
        ("sum and histogram of an argument", with(&sum)),
        ("record of three arguments", with(&records)),
        ("record of the registers and 2 KiB of stack", with(&stacks)),
    ];
    let mut functions: Vec<(&'static str, Function)> = vec![(UNPROBED, ground.function(code)?)];
    for (name, probe) in probes.iter().filter(|(name, _)| wanted(name)) {
        functions.push((name, ground.probed(code, probe)?));
    }
    let ground = &ground;
    let mut subjects: Vec<Measurement<'_>> = functions
        .iter()
        .map(|(name, function)| {
            Measurement::new(name, move || {
                for number in 0..CALLS {
                    // As a reader of the ring does it, in good time.
                    if number & 31 == 0 {
                        ground.release(ring.control);
                    }
                    std::hint::black_box(function.call(number & 63));
                }
                CALLS
            })
        })
        .collect();
    // The stack has as many bytes above the functions' frames.
    let above = std::hint::black_box([0_u8; 2048]);
    let measured = rounds::measure(&mut subjects, options.rounds);
    std::hint::black_box(&above);
    print(title, &measured);
    Ok(())
}

fn print(title: &str, measured: &[Measured]) {
    let base = measured.iter().find(|one| one.name == UNPROBED);
    println!("\n{:<44}{:>10}{:>10}{:>12}{:>12}", format!("call, {title}"), "ns", "least", "added ns", "× unprobed");
    for one in measured {
        let added = base.map_or(0.0, |base| one.nanoseconds - base.nanoseconds);
        let ratio = base.map_or(1.0, |base| one.nanoseconds / base.nanoseconds);
        println!("{:<44}{:>10.2}{:>10.2}{added:>12.2}{ratio:>12.2}", one.name, one.nanoseconds, one.least);
    }
}
