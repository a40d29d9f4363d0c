//! The channel and what breakpoints do with threads: events, holding, conditions.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;

use crossing::line::Line;
use crossing::victim::Victim;
use crossing::words;
use wire::commands::{Command, Reply};
use wire::events::Event;
use wire::site::{Base, Condition, Memory, Relation, Site, Subject, action};
use wire::{Failure, Status};

/// Words of a machine's general registers, and where the first argument, the stack pointer and the pc stand.
#[cfg(target_arch = "x86_64")]
const GENERAL: [usize; 4] = [27, 14, 19, 16];
#[cfg(target_arch = "aarch64")]
const GENERAL: [usize; 4] = [34, 0, 31, 32];

static SHOWN: AtomicU64 = AtomicU64::new(0);

#[inline(never)]
extern "C" fn leaf(number: u64) -> u64 {
    SHOWN.store(number, Relaxed);
    std::hint::black_box(number).wrapping_mul(3) ^ 5
}

/// Calls `leaf` with 1, 2, 3 and so on.
fn calls(number: u64) -> u64 {
    (1..=number).fold(7, |sum, step| sum.wrapping_add(leaf(std::hint::black_box(step))))
}

#[inline(never)]
extern "C" fn reads(place: *const u64) -> u64 {
    // SAFETY: `points` gives one, and the processor ignores its tag.
    unsafe { place.read_volatile() }
}

/// What the processor ignores of a pointer.
const TAG: usize = if cfg!(target_arch = "aarch64") { 0x5a << 56 } else { 0 };

/// Points `reads` to the last but one word before a page that is not there, of words that begin with the number.
fn points(number: u64) -> u64 {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: it is mapped where there is room, and what is taken away and written is of that.
    let place = unsafe {
        let words = libc::mmap(std::ptr::null_mut(), 2 * 4096, access, flags, -1, 0).cast::<u64>();
        assert_eq!(libc::munmap(words.add(512).cast(), 4096), 0);
        (0..3).for_each(|step| words.add(509 + step as usize).write(number + step));
        words.add(510)
    };
    reads((place as usize | TAG) as *const u64)
}

fn threads(number: u64) -> u64 {
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(move || calls(number))).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).fold(0, u64::wrapping_add)
    })
}

fn spin(number: u64) -> u64 {
    while SHOWN.load(Relaxed) != number {
        std::hint::spin_loop();
    }
    number
}

/// Bytes of the stack on which `stalls` calls `leaf`.
const STACK: usize = 64 << 10;

/// With 0 has a thread call `leaf` on a stack that ends before a page that nobody fills, and waits until that is read; with 1 fills
/// the page and says what `leaf` said.
fn stalls(order: u64) -> u64 {
    // linux/userfaultfd.h
    const API: u64 = 0xaa;
    const UFFDIO_API: libc::Ioctl = 0xc018_aa3f;
    const UFFDIO_REGISTER: libc::Ioctl = 0xc020_aa00;
    const UFFDIO_ZEROPAGE: libc::Ioctl = 0xc020_aa04;
    static FAULTS: AtomicU64 = AtomicU64::new(0);
    static PAGE: AtomicU64 = AtomicU64::new(0);
    static THREAD: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);
    extern "C" fn run() {
        SHOWN.store(leaf(1), Relaxed);
    }
    let faults = || FAULTS.load(Relaxed) as i32;
    // SAFETY: the words are as many as the calls' numbers say.
    let ask = |call, words: &mut [u64]| assert_eq!(unsafe { libc::ioctl(faults(), call, words.as_mut_ptr()) }, 0);
    if order == 1 {
        ask(UFFDIO_ZEROPAGE, &mut [PAGE.load(Relaxed), 4096, 0, 0]);
        THREAD.lock().unwrap().take().unwrap().join().unwrap();
        return SHOWN.load(Relaxed);
    }
    // SAFETY: it takes flags.
    FAULTS.store(unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | libc::O_NONBLOCK) } as u64, Relaxed);
    ask(UFFDIO_API, &mut [API, 0, 0]);
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: it is mapped where there is room.
    let stack = unsafe { libc::mmap(std::ptr::null_mut(), STACK + 4096, access, flags, -1, 0) } as u64;
    PAGE.store(stack + STACK as u64, Relaxed);
    ask(UFFDIO_REGISTER, &mut [PAGE.load(Relaxed), 4096, 1, 0]);
    let call = move || {
        // SAFETY: all zero is a valid value, and the stack is nobody else's.
        unsafe {
            let [mut here, mut there]: [libc::ucontext_t; 2] = std::mem::zeroed();
            assert_eq!(libc::getcontext(&mut there), 0);
            (there.uc_stack.ss_sp, there.uc_stack.ss_size) = (stack as *mut libc::c_void, STACK);
            there.uc_link = &mut here;
            libc::makecontext(&mut there, run, 0);
            assert_eq!(libc::swapcontext(&mut here, &there), 0);
        }
    };
    *THREAD.lock().unwrap() = Some(std::thread::spawn(call));
    let mut fault = libc::pollfd { fd: faults(), events: libc::POLLIN, revents: 0 };
    // SAFETY: there is one.
    assert_eq!((unsafe { libc::poll(&mut fault, 1, -1) }, fault.revents), (1, libc::POLLIN));
    0
}

fn start(work: fn(u64) -> u64) -> (Victim, Line, u64) {
    let victim = Victim::start(work);
    let mut line = Line::open();
    let debuggee = line.attach(victim.id(), 0).unwrap();
    (victim, line, debuggee)
}

fn site(actions: u16, condition: Option<Condition>) -> Site {
    Site { address: leaf as *const () as u64, actions, memory: Memory::NONE, condition }
}

fn insert(line: &mut Line, debuggee: u64, site: Site) {
    line.ask(Command::Insert { debuggee, sites: &site.bytes() }, |told| {
        assert_eq!(told, Ok(Reply::Insert { inserted: 1, failures: &[] }));
    });
}

fn registers(line: &mut Line, thread: u64) -> Vec<u64> {
    line.ask(Command::Registers { thread }, |told| match told {
        Ok(Reply::Registers { registers }) => words(registers),
        other => panic!("{other:?}"),
    })
}

crossing::channel_tests! {
    each_hit_is_an_event_with_registers_and_stack {
        let (mut victim, mut line, debuggee) = start(calls);
        insert(&mut line, debuggee, Site { memory: Memory::stack(64), ..site(action::RECORD | action::REGISTERS, None) });
        let (plain, work) = (calls(20), victim.ask(20));
        assert_eq!(work, plain);
        let mut before = 0;
        for number in 1..=20 {
            let id = u64::from(victim.id());
            line.event(|event| {
                let Event::Hit { time, debuggee: of, thread, address, count, registers, memory } = event else {
                    panic!("{event:?}")
                };
                assert_eq!((of, thread, address, count), (debuggee, id, leaf as *const () as u64, number));
                assert!(time > before);
                before = time;
                let general = words(registers);
                let [length, argument, sp, pc] = GENERAL;
                assert_eq!((general.len(), general[argument], general[pc]), (length, number, address));
                assert_eq!((memory.len(), general[sp] % 8), (64, 0));
            });
        }
    }

    each_hit_is_an_event_with_the_memory_that_its_site_says {
        let (argument, sp) = (Base::Register(GENERAL[1] as u16), GENERAL[2]);
        static KNOWN: u64 = 0x1234_5678_9abc_def0;
        let (shown, below) = (&raw const KNOWN as u64, -8i64 as u64);
        for (base, offset, size, expected) in [
            (argument, 0, 8, vec![41]),
            (argument, below, 16, vec![40, 41]),
            // As many of them as are there.
            (argument, 0, 4096, vec![41, 42]),
            (argument, 16, 8, vec![]),
            (Base::Zero, shown, 8, vec![KNOWN]),
            (Base::Zero, 8, 8, vec![]),
            // No such register.
            (Base::Register(GENERAL[0] as u16), shown, 8, vec![]),
        ] {
            let (mut victim, mut line, debuggee) = start(points);
            let (address, memory) = (reads as *const () as u64, Memory::new(base, offset, size));
            insert(&mut line, debuggee, Site { address, memory, ..site(action::RECORD, None) });
            assert_eq!(victim.ask(40), 41);
            line.event(|event| match event {
                Event::Hit { memory, registers: [], .. } => assert_eq!(words(memory), expected, "{base:?} {offset:#x}"),
                other => panic!("{other:?}"),
            });
        }
        for (base, offset) in [(Base::Stack, 0), (Base::Stack, 24), (Base::Register(sp as u16), below)] {
            let (mut victim, mut line, debuggee) = start(calls);
            let memory = Memory::new(base, offset, 64);
            insert(&mut line, debuggee, Site { memory, ..site(action::RECORD | action::HOLD, None) });
            victim.order(1);
            let told = line.event(|event| match event {
                Event::Hit { memory, .. } => words(memory),
                other => panic!("{other:?}"),
            });
            let (thread, ..) = line.held();
            let address = registers(&mut line, thread)[sp].wrapping_add(offset);
            let there = line.ask(Command::ReadMemory { debuggee, address, length: 64 }, |told| match told {
                Ok(Reply::ReadMemory { bytes }) => words(bytes),
                other => panic!("{other:?}"),
            });
            assert_eq!((told.len(), &told), (8, &there), "{base:?} {offset:#x}");
            assert_eq!(line.done(Command::Resume { thread }), Ok(()));
            assert_eq!(victim.answer(), calls(1));
        }
    }

    conditions_choose_among_hits_and_all_are_counted {
        let shown = SHOWN.as_ptr() as u64;
        let of = |subject, relation, value| Condition { subject, relation, value };
        let argument = Subject::Register(GENERAL[1] as u16);
        for (condition, expected) in [
            (of(argument, Relation::Equal, 7), vec![7]),
            (of(argument, Relation::Below, 3), vec![1, 2]),
            (of(argument, Relation::AllOf, 12), vec![12, 13, 14, 15]),
            (of(Subject::Hits, Relation::NotBelow, 19), vec![19, 20]),
            // It has the number of the call before.
            (of(Subject::Memory { address: shown, size: 8 }, Relation::Equal, 4), vec![5]),
            (of(Subject::Memory { address: 8, size: 4 }, Relation::NotEqual, 4), vec![]),
        ] {
            let (mut victim, mut line, debuggee) = start(calls);
            insert(&mut line, debuggee, site(action::RECORD, Some(condition)));
            assert_eq!(victim.ask(20), calls(20));
            let address = (leaf as *const () as u64).to_ne_bytes();
            let counts = line.ask(Command::Counts { debuggee, addresses: &address }, |told| match told {
                Ok(Reply::Counts { counts }) => words(counts),
                other => panic!("{other:?}"),
            });
            assert_eq!(counts, [20]);
            for number in expected {
                line.event(|event| assert!(matches!(event, Event::Hit { count, .. } if count == number), "{event:?}"));
            }
        }
    }

    a_held_thread_shows_its_registers_and_goes_on_with_others {
        let (mut victim, mut line, debuggee) = start(calls);
        insert(&mut line, debuggee, site(action::HOLD, None));
        victim.order(3);
        let mut expected = 7u64;
        for number in 1..=3 {
            let (thread, reason, address) = line.held();
            assert_eq!((thread, reason, address), (victim.id().into(), 1, leaf as *const () as u64));
            let mut general = registers(&mut line, thread);
            assert_eq!((general[GENERAL[1]], general[GENERAL[3]]), (number, address));
            general[GENERAL[1]] += 100;
            let bytes: Vec<u8> = general.iter().flat_map(|word| word.to_ne_bytes()).collect();
            assert_eq!(line.done(Command::SetRegisters { thread, registers: &bytes }), Ok(()));
            let short = Command::SetRegisters { thread, registers: &bytes[8..] };
            assert_eq!(line.done(short), Err(Failure::new(Status::Value, 1)));
            assert_eq!(line.done(Command::Resume { thread }), Ok(()));
            expected = expected.wrapping_add((number + 100).wrapping_mul(3) ^ 5);
        }
        assert_eq!(victim.answer(), expected);
        let thread = victim.id().into();
        assert_eq!(line.done(Command::Resume { thread }), Err(Failure::new(Status::NotHeld, thread)));
    }

    a_thread_sent_elsewhere_does_not_run_the_instruction {
        let (mut victim, mut line, debuggee) = start(calls);
        insert(&mut line, debuggee, site(action::HOLD, None));
        victim.order(1);
        let (thread, ..) = line.held();
        let mut general = registers(&mut line, thread);
        general[GENERAL[3]] = other as *const () as u64;
        let bytes: Vec<u8> = general.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(line.done(Command::SetRegisters { thread, registers: &bytes }), Ok(()));
        assert_eq!(line.done(Command::Resume { thread }), Ok(()));
        assert_eq!(victim.answer(), 7 + 1000);
    }

    held_threads_run_when_their_session_ends_and_die_when_they_are_killed {
        let (mut victim, mut line, debuggee) = start(threads);
        insert(&mut line, debuggee, site(action::HOLD, None));
        victim.order(5);
        let held: Vec<_> = (0..4).map(|_| line.held().0).collect();
        assert_eq!(held.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
        drop(line);
        assert_eq!(victim.answer(), threads(5));

        let (mut victim, mut line, debuggee) = start(calls);
        insert(&mut line, debuggee, site(action::HOLD, None));
        victim.order(5);
        let _ = line.held();
        // Its end is waited for.
        drop(victim);
    }

    a_running_thread_is_held_where_it_is_and_interrupts_no_call {
        let (mut victim, mut line, debuggee) = start(spin);
        victim.order(77);
        assert_eq!(line.done(Command::Hold { debuggee, thread: 0 }), Ok(()));
        let (thread, reason, _) = line.held();
        assert_eq!((thread, reason), (victim.id().into(), 3));
        let address = SHOWN.as_ptr() as u64;
        let bytes = 77u64.to_ne_bytes();
        assert_eq!(line.done(Command::WriteMemory { debuggee, address, bytes: &bytes }), Ok(()));
        assert_eq!(line.done(Command::Resume { thread }), Ok(()));
        assert_eq!(victim.answer(), 77);
        // It waits in a call now, and is held when that is done.
        assert_eq!(line.done(Command::Hold { debuggee, thread }), Ok(()));
        victim.order(77);
        let (thread, ..) = line.held();
        assert_eq!(line.done(Command::Resume { thread }), Ok(()));
        assert_eq!(victim.answer(), 77);
        // Nobody's number, and one that the kernel would take for the thread's.
        for nobody in [1, 1 << 32 | thread] {
            let gone = line.done(Command::Hold { debuggee, thread: nobody });
            assert_eq!(gone, Err(Failure::new(Status::NoThread, nobody)));
        }
    }

    a_thread_that_is_about_to_be_held_goes_on_when_its_process_is_detached {
        let (mut victim, mut line, debuggee) = start(stalls);
        insert(&mut line, debuggee, Site { memory: Memory::stack(4096), ..site(action::RECORD | action::HOLD, None) });
        assert_eq!(victim.ask(0), 0);
        assert_eq!(line.done(Command::Detach { debuggee }), Ok(()));
        assert_eq!(victim.ask(1), leaf(1));
    }

    lost_events_are_counted_and_told {
        let (mut victim, mut line, debuggee) = start(calls);
        insert(&mut line, debuggee, Site { memory: Memory::stack(4096), ..site(action::RECORD, None) });
        const CALLS: u64 = 1000;
        assert_eq!(victim.ask(CALLS), calls(CALLS));
        let count = |line: &mut Line| line.event(|event| match event {
            Event::Hit { count, .. } => Ok(count),
            Event::Lost { count } => Err(count),
            other => panic!("{other:?}"),
        });
        for number in 1..=50 {
            assert_eq!(count(&mut line), Ok(number));
        }
        // With room again the next hit tells of those that were lost.
        assert_eq!(victim.ask(1), calls(1));
        let mut told = 50;
        let lost = loop {
            match count(&mut line) {
                Ok(number) => told = number,
                Err(lost) => break lost,
            }
        };
        assert_eq!(told + lost, CALLS);
        assert!(lost > 0);
        assert_eq!(count(&mut line), Ok(CALLS + 1));
    }

    events_behind_a_reply_that_is_not_read_are_not_lost {
        let (mut victim, mut line, debuggee) = start(calls);
        insert(&mut line, debuggee, site(action::RECORD, None));
        // The reply alone is longer than the room for events.
        let addresses = vec![0; 1 << 20];
        line.write(Command::Counts { debuggee, addresses: &addresses });
        const CALLS: u64 = 100;
        assert_eq!(victim.ask(CALLS), calls(CALLS));
        line.reply(|told| match told {
            Ok(Reply::Counts { counts }) => assert_eq!(counts.len(), addresses.len()),
            other => panic!("{other:?}"),
        });
        // The event of one more hit would tell of lost ones.
        assert_eq!(victim.ask(1), calls(1));
        for number in 1..=CALLS + 1 {
            line.event(|event| assert!(matches!(event, Event::Hit { count, .. } if count == number), "{event:?}"));
        }
    }
}

#[inline(never)]
extern "C" fn other(_: u64) -> u64 {
    1000
}
