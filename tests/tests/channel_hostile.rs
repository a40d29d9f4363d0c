//! The channel and processes that do what they can to take others' time: tables full of lies, threads that do not come back, forged marks.

use std::fs::{File, read_to_string};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossing::channel::{ask, attach, open};
use crossing::line::Line;
use crossing::sites::{counts, insert};
use crossing::victim::Victim;
#[cfg(target_arch = "x86_64")]
use crossing::{debuggee::this_program, skip, uprobe::uprobe};
#[cfg(target_arch = "x86_64")]
use nix::{
    sys::{ptrace, wait::waitpid},
    unistd::Pid,
};
use wire::commands::{Command, Reply, option};
use wire::events::Event;
use wire::site::{Memory, Site, action};
use wire::{Failure, Status};

#[inline(never)]
extern "C" fn leaf(number: u64) -> u64 {
    std::hint::black_box(number).wrapping_mul(3) ^ 5
}

fn site() -> u64 {
    leaf as *const () as u64
}

// Code that nobody executes: a breakpoint for each session.
std::arch::global_asm!(".globl idle", ".hidden idle", ".balign 64", "idle:", ".rept 256", "nop", ".endr");

unsafe extern "C" {
    fn idle();
}

/// An instruction that nobody executes.
fn elsewhere(number: u64) -> u64 {
    idle as *const () as u64 + 4 * number
}

/// Calls `leaf` `number` times.
#[inline(never)]
fn calls(number: u64) -> u64 {
    (0..number).fold(7, |sum, step| sum.wrapping_add(leaf(std::hint::black_box(step))))
}

/// The arenas of this process: the executable mappings that begin as an arena does.
fn arenas() -> Vec<(u64, u64)> {
    let maps = read_to_string("/proc/self/maps").expect("procfs");
    let nameless = maps.lines().filter(|line| line.contains("r-xp") && !line.contains(['/', '[']));
    let ranges = nameless.filter_map(|line| line.split_whitespace().next()?.split_once('-'));
    let number = |digits| u64::from_str_radix(digits, 16).expect("an address");
    ranges.map(|(start, end)| (number(start), number(end))).collect()
}

/// Fills the index of each arena, and has every entry be of another site. Returns how many arenas there are.
fn scribble() -> u64 {
    let found = arenas();
    for (start, end) in &found {
        // SAFETY: the range is a mapping of this process, which runs no code of it. The numbers of the header give the arena's layout.
        unsafe {
            let length = (end - start) as usize;
            assert_eq!(
                libc::mprotect(*start as *mut _, length, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC),
                0
            );
            let words = *start as *mut u32;
            let (capacity, index) = (*words.add(4), *words.add(5));
            for word in 0..index {
                *words.add(16 + word as usize) = (word * 7) % capacity + 1;
            }
            let entries = (64 + 4 * u64::from(index)).next_multiple_of(64);
            for number in 0..u64::from(capacity) {
                let entry = (start + entries + 32 * number) as *mut u8;
                entry.cast::<u64>().write_unaligned(start + number);
                entry.add(24).cast::<[u8; 2]>().write([1, 1]);
            }
        }
    }
    found.len() as u64
}

static TRAPS: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_trap(_: i32) {
    TRAPS.fetch_add(1, Ordering::Relaxed);
}

/// Overwrites its arenas for 0. Otherwise it runs into that many breakpoint instructions of its own, and returns how many signals came.
fn lies(number: u64) -> u64 {
    if number == 0 {
        return scribble();
    }
    // SAFETY: the handler counts.
    unsafe { libc::signal(libc::SIGTRAP, on_trap as extern "C" fn(i32) as usize) };
    let before = TRAPS.load(Ordering::Relaxed);
    for _ in 0..number {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the handler returns behind the instruction.
        unsafe {
            std::arch::asm!("int3")
        };
        #[cfg(target_arch = "aarch64")]
        // SAFETY: the signal is the one of the instruction, and the handler returns.
        unsafe {
            libc::raise(libc::SIGTRAP)
        };
    }
    TRAPS.load(Ordering::Relaxed) - before
}

/// Has a thread wait in `clone` without end: its seccomp filter asks a listener that does not answer. Returns how many arenas there are.
#[cfg(target_arch = "x86_64")]
fn parks(number: u64) -> u64 {
    if number == 0 {
        return arenas().len() as u64;
    }
    static PARKED: AtomicBool = AtomicBool::new(false);
    extern "C" fn park(_: *mut libc::c_void) -> *mut libc::c_void {
        let statement = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
        // Loads the number of the call, and asks for clone(2).
        let filter = [
            statement(0x20, 0),
            libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: libc::SYS_clone as u32 },
            statement(0x06, libc::SECCOMP_RET_USER_NOTIF),
            statement(0x06, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: 4, filter: filter.as_ptr().cast_mut() };
        // SAFETY: the filter outlives the call. The clone never happens.
        unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            let listener = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
            let listens = libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, listener, &program);
            assert!(listens >= 0, "a listener");
            PARKED.store(true, Ordering::Release);
            libc::syscall(libc::SYS_clone, libc::CLONE_VM | libc::CLONE_SIGHAND | libc::CLONE_THREAD, 0, 0, 0, 0);
        }
        std::ptr::null_mut()
    }
    let mut thread = 0;
    // SAFETY: the function uses nothing that ends before it.
    assert_eq!(unsafe { libc::pthread_create(&mut thread, std::ptr::null(), park, std::ptr::null_mut()) }, 0);
    while !PARKED.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    1
}

/// Limits the address space to what there is.
fn limits(_: u64) -> u64 {
    let size = read_to_string("/proc/self/statm").expect("procfs");
    let pages: u64 = size.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number");
    // SAFETY: the call reads a structure. The size of a page is at least 4 KiB, so the limit is at most what there is.
    let bytes = pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: as above.
    unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) as u64 }
}

/// Becomes a user who may lock no more memory, and all of whose mappings to come are locked.
fn locks(_: u64) -> u64 {
    let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the calls take numbers, and a structure that is there.
    unsafe {
        assert_eq!(libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit), 0);
        assert_eq!(libc::mlockall(libc::MCL_FUTURE), 0);
        libc::setuid(65534) as u64
    }
}

/// Calls `leaf` until no channel has room for more events, and makes children that end at once.
fn forks(number: u64) -> u64 {
    calls(200);
    for _ in 0..number {
        // SAFETY: the child ends at once.
        unsafe {
            match libc::fork() {
                0 => libc::_exit(0),
                child => assert_eq!(libc::waitpid(child, std::ptr::null_mut(), 0), child),
            }
        }
    }
    number
}

/// Makes `number` threads, and some processes behind them.
fn lives(number: u64) -> u64 {
    calls(200);
    for _ in 0..number {
        std::thread::spawn(|| ()).join().expect("it ends");
    }
    forks(20)
}

const MAPS: u64 = 1 << 32;
const EXECUTES: u64 = MAPS + 1;

/// Calls `leaf`, maps a file of memory and returns its descriptor, or executes a program that does nothing.
fn maps(number: u64) -> u64 {
    match number {
        // SAFETY: the arguments are plain numbers and a name. The mapping is nobody else's.
        MAPS => unsafe {
            let file = libc::memfd_create(c"kept".as_ptr(), libc::MFD_ALLOW_SEALING);
            assert_eq!(libc::ftruncate(file, 4096), 0);
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let mapped = libc::mmap(std::ptr::null_mut(), 4096, protection, libc::MAP_SHARED, file, 0);
            assert_ne!(mapped, libc::MAP_FAILED);
            file as u64
        },
        EXECUTES => {
            let arguments = [c"true".as_ptr(), std::ptr::null()];
            // SAFETY: all that is pointed to is there.
            unsafe { libc::execv(c"/bin/true".as_ptr(), arguments.as_ptr()) as u64 }
        }
        _ => calls(number),
    }
}

/// Makes threads, and waits for their ends; calls `leaf` often for 0.
fn many(number: u64) -> u64 {
    if number == 0 {
        return calls(200);
    }
    std::thread::scope(|scope| {
        for _ in 0..number {
            scope.spawn(|| calls(1));
        }
    });
    number
}

/// How many threads of a process sleep so that a signal's handler cannot run, as held threads do.
fn held_threads(process: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("procfs");
    let states = tasks.filter_map(|task| read_to_string(task.ok()?.path().join("stat")).ok());
    states.filter(|line| line.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['I', 'D']))).count() as u64
}

fn unread(file: &File) -> u64 {
    let info = read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).expect("procfs");
    let line = info.lines().find_map(|line| line.strip_prefix("ntrace-unread:\t")).expect("a channel");
    line.parse().expect("a number")
}

/// The bytes of an event in the channel.
fn size(event: &Event<'_>) -> u64 {
    let mut bytes = Vec::new();
    event.encode(&mut bytes, 1).expect("a vector takes all");
    bytes.len() as u64
}

/// What makes a reply of more than a channel takes before it is read.
static LONG: [u8; 1 << 20] = [0; 1 << 20];

/// Attaches a channel that holds new threads, and makes it lose events. Returns how much is unread.
fn fill(line: &mut Line, victim: &mut Victim) -> u64 {
    let debuggee = line.attach(victim.id(), option::HOLD_NEW).unwrap();
    let site = Site { address: site(), actions: action::RECORD, memory: Memory::stack(4096), condition: None };
    line.ask(Command::Insert { debuggee, sites: &site.bytes() }, |told| {
        assert_eq!(told, Ok(Reply::Insert { inserted: 1, failures: &[] }));
    });
    line.write(Command::ReadMemory { debuggee, address: LONG.as_ptr() as u64, length: LONG.len() as u64 });
    victim.ask(0);
    unread(line.file())
}

/// Forbids writing to a file of memory, which fails while it is mapped for writing.
fn seal(file: &File) -> Result<(), i32> {
    // SAFETY: the descriptor is the file's.
    let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_WRITE) };
    if sealed == 0 { Ok(()) } else { Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)) }
}

crossing::channel_tests! {
    a_trap_in_a_process_with_lying_tables_is_its_own_though_others_ask_for_counts_without_end {
        let mut victim = Victim::start(lies);
        let mut file = open();
        let debuggees: Vec<u64> = (0..16).map(|_| attach(&mut file, victim.id()).unwrap()).collect();
        for (number, debuggee) in debuggees.iter().enumerate() {
            assert_eq!(insert(&mut file, *debuggee, &[elsewhere(number as u64)]), Ok((1, vec![])));
        }
        assert_eq!(victim.ask(0), 16);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let _ = counts(&mut file, debuggees[0], &[]);
                }
            });
            victim.order(20);
            let traps = victim.answer();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(traps, 20);
        });
    }

    the_end_of_a_session_with_a_process_of_lying_tables_restores_its_own_sites {
        let mut victim = Victim::start(lies);
        let mut there = [0; 4];
        let memory = File::open(format!("/proc/{}/mem", victim.id())).expect("procfs");
        memory.read_exact_at(&mut there, site()).expect("it is mapped");
        let mut hostile = open();
        for number in 0..15 {
            let debuggee = attach(&mut hostile, victim.id()).unwrap();
            assert_eq!(insert(&mut hostile, debuggee, &[elsewhere(number)]), Ok((1, vec![])));
        }
        assert_eq!(victim.ask(0), 15);
        let mut own = open();
        let debuggee = attach(&mut own, victim.id()).unwrap();
        assert_eq!(insert(&mut own, debuggee, &[site()]), Ok((1, vec![])));
        assert!(ask(&mut own, Command::Detach { debuggee }, |told| told.is_ok()));
        let mut behind = [0; 4];
        memory.read_exact_at(&mut behind, site()).expect("it is mapped");
        assert_eq!(behind, there);
    }

    #[cfg(target_arch = "x86_64")]
    a_thread_that_its_filter_keeps_in_clone_does_not_keep_an_arena {
        let mut victim = Victim::start(parks);
        let before = victim.ask(0);
        assert_eq!(victim.ask(1), 1);
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        assert_eq!(insert(&mut file, debuggee, &[site()]), Ok((1, vec![])));
        assert_eq!(victim.ask(0), before + 1);
        assert!(ask(&mut file, Command::Detach { debuggee }, |told| told.is_ok()));
        assert_eq!(victim.ask(0), before);
    }

    of_threads_that_are_held_while_much_is_unread_the_channel_tells_once_there_is_room {
        const THREADS: u64 = 12;
        let mut victim = Victim::start(many);
        let mut line = Line::open();
        let full = fill(&mut line, &mut victim);
        victim.order(THREADS);
        while held_threads(victim.id()) < THREADS {
            std::thread::yield_now();
        }
        // That they began is told, behind what was lost. That they are held is not.
        let started = size(&Event::ThreadStarted { time: 0, debuggee: 0, thread: 0 });
        let told = size(&Event::Lost { count: 0 }) + THREADS * started;
        assert_eq!(unread(line.file()), full + told, "nothing is told of them");
        line.reply(|told| assert!(matches!(told, Ok(Reply::ReadMemory { bytes }) if bytes.len() == LONG.len())));
        let mut held = 0;
        while held < THREADS {
            if let Some(thread) = line.event(|event| if let Event::Held { thread, .. } = event { Some(thread) } else { None }) {
                held += 1;
                assert_eq!(line.done(Command::Resume { thread }), Ok(()));
            }
        }
        assert_eq!(victim.answer(), THREADS);
    }

    a_session_with_held_threads_of_which_it_was_not_told_ends {
        let mut victim = Victim::start(many);
        let mut line = Line::open();
        fill(&mut line, &mut victim);
        victim.order(3);
        while held_threads(victim.id()) < 3 {
            std::thread::yield_now();
        }
        drop(line);
        assert_eq!(victim.answer(), 3);
    }

    of_a_process_that_ended_nothing_but_counts_is_there {
        let mut victim = Victim::start(calls);
        let mut file = open();
        let debuggee = ask(&mut file, Command::Attach { process: victim.id().into(), options: option::KEEP }, |told| {
            match told { Ok(Reply::Attach { debuggee }) => debuggee, other => panic!("{other:?}") }
        });
        assert_eq!(insert(&mut file, debuggee, &[site()]), Ok((1, vec![])));
        victim.ask(20);
        victim.end();
        let gone = Failure::new(Status::NoProcess, debuggee);
        for command in [
            Command::WriteMemory { debuggee, address: site(), bytes: &[0] },
            Command::ReadMemory { debuggee, address: site(), length: 1 },
            Command::Mappings { debuggee },
            Command::Insert { debuggee, sites: &[] },
            Command::Remove { debuggee, addresses: &[] },
        ] {
            ask(&mut file, command, |told| assert_eq!(told.map(drop), Err(gone), "{command:?}"));
        }
        assert_eq!(counts(&mut file, debuggee, &[site()]), Ok(vec![20]));
    }

    the_memory_of_a_process_goes_with_the_process_though_its_counts_are_kept {
        let attached = |victim: &Victim, file: &mut File| {
            let attach = Command::Attach { process: victim.id().into(), options: option::KEEP };
            ask(file, attach, |told| match told { Ok(Reply::Attach { debuggee }) => debuggee, other => panic!("{other:?}") })
        };
        for ends in [Victim::end as fn(Victim) -> i32, |mut victim| {
            victim.order(EXECUTES);
            victim.end()
        }] {
            let mut victim = Victim::start(maps);
            let path = format!("/proc/{}/fd/{}", victim.id(), victim.ask(MAPS));
            let shared = File::options().read(true).write(true).open(path).expect("procfs");
            let mut file = open();
            let debuggee = attached(&victim, &mut file);
            assert_eq!(insert(&mut file, debuggee, &[site(), elsewhere(0)]), Ok((2, vec![])));
            victim.ask(20);
            assert_eq!(seal(&shared), Err(libc::EBUSY), "it is mapped");
            ends(victim);
            // No command is written: the kernel gives the memory back by itself.
            while seal(&shared).is_err() {
                std::thread::yield_now();
            }
            // After an exec the debuggee's number is that of the new program, and the next one is that of the old.
            let all: Vec<_> =
                (debuggee..debuggee + 2).map(|number| counts(&mut file, number, &[elsewhere(0), site(), site() + 1])).collect();
            assert!(all.contains(&Ok(vec![0, 20, u64::MAX])), "{all:?}");
        }
    }

    a_session_that_reads_nothing_gets_no_more_debuggees {
        // Each of them is told of each thread, so that no room is left soon.
        const TIMES: usize = 16;
        let mut victim = Victim::start(lives);
        let mut line = Line::open();
        let all: Vec<u64> = (0..TIMES).map(|_| line.attach(victim.id(), option::CHILDREN).unwrap()).collect();
        let site = Site { address: site(), actions: action::RECORD, memory: Memory::stack(4096), condition: None };
        line.ask(Command::Insert { debuggee: all[0], sites: &site.bytes() }, |told| {
            assert_eq!(told, Ok(Reply::Insert { inserted: 1, failures: &[] }));
        });
        victim.ask(600);
        victim.end();
        // Neither the children's ends nor that of their maker are lost, so the ends say who was a debuggee.
        let ended = |event: Event<'_>| if let Event::Ended { debuggee, .. } = event { Some(debuggee) } else { None };
        let mut found = Vec::new();
        while found.len() < TIMES {
            found.extend(line.event(ended));
        }
        found.sort_unstable();
        assert_eq!(found, all);
    }

    a_session_maps_nothing_beyond_the_limits_of_the_process {
        for limits in [limits, locks] {
            let mut victim = Victim::start(limits);
            assert_eq!(victim.ask(0), 0);
            let mut file = open();
            let debuggee = attach(&mut file, victim.id()).unwrap();
            let (inserted, failures) = insert(&mut file, debuggee, &[site()]).unwrap();
            assert_eq!((inserted, failures.len()), (0, 1), "{failures:?}");
        }
    }

    // The upper half of this register of a trap keeps what is pending for the thread's return to user mode.
    #[cfg(target_arch = "x86_64")]
    a_thread_with_a_forged_mark_keeps_nobody_who_adds_or_removes_a_uprobe {
        let victim = Victim::start(calls);
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        assert_eq!(insert(&mut file, debuggee, &[site()]), Ok((1, vec![])));
        let process = Pid::from_raw(victim.id() as i32);
        ptrace::seize(process, ptrace::Options::empty()).unwrap();
        ptrace::interrupt(process).unwrap();
        waitpid(process, None).unwrap();
        let before = ptrace::getregs(process).unwrap();
        let program = std::env::current_exe().expect("procfs");
        let offset = site() - this_program().base();
        // The numbers of shim.h with turns 0 to 3, as this version of the module keeps them and as another one did.
        for pending in (0..4).flat_map(|turn| [3, 4, 999, 1000].map(|kind| kind + 1024 * turn)) {
            for mark in [!(pending << 32), !pending] {
                let mut forged = before;
                (forged.rip, forged.orig_rax) = (site() + 1, mark);
                ptrace::setregs(process, forged).unwrap();
                // It comes, and goes.
                match uprobe(victim.id(), &program, offset) {
                    Ok(event) => drop(event),
                    Err(error) => return skip("a_thread_with_a_forged_mark", error),
                }
            }
        }
        ptrace::setregs(process, before).unwrap();
        ptrace::detach(process, None).unwrap();
        drop(file);
        assert_eq!(victim.end(), 0);
    }
}
