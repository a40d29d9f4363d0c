//! The channel beside others that change a process' code or trace it, and programs of 32 bits.

use std::fs::read;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command as Process, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use crossing::channel::{ask, attach, open};
use crossing::debuggee::{Program, is_system_call, this_program};
use crossing::line::Line;
use crossing::sites::{counts, insert};
use crossing::uprobe::{hits, uprobe};
use crossing::victim::Victim;
use crossing::{in_turn, skip};
use nix::sys::ptrace;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use object::{Object, ObjectSection};
use wire::Status;
use wire::commands::{Command, Reply};
use wire::events::Event;
use wire::site::{Condition, Memory, Relation, Site, Subject, action};

#[inline(never)]
extern "C" fn leaf(number: u64) -> u64 {
    std::hint::black_box(number).wrapping_mul(3) ^ 5
}

#[inline(never)]
extern "C" fn other(number: u64) -> u64 {
    std::hint::black_box(number).wrapping_mul(5) ^ 3
}

/// Where uprobes and breakpoints meet.
#[inline(never)]
extern "C" fn meeting(number: u64) -> u64 {
    std::hint::black_box(number).wrapping_mul(9) ^ 11
}

/// Calls all of them `number` times.
fn calls(number: u64) -> u64 {
    (0..number).fold(7, |sum, step| sum.wrapping_add(leaf(std::hint::black_box(step))) ^ meeting(other(sum)))
}

// A no-operation of ten bytes, which newer kernels' uprobes make a call of after their first hit; then as `meeting`.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl padded",
    "padded:",
    ".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0",
    "jmp {meeting}",
    meeting = sym meeting,
);

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    fn padded(number: u64) -> u64;
}

/// Calls `padded` `number` times.
#[cfg(target_arch = "x86_64")]
fn padded_calls(number: u64) -> u64 {
    // SAFETY: it computes with a number.
    (0..number).fold(7, |sum, step| sum.wrapping_add(unsafe { padded(std::hint::black_box(step)) }))
}

/// Calls `meeting` with the answer of a system call that will restart (include/linux/errno.h), in the register where it lies.
fn begins_anew(number: u64) -> u64 {
    let answers = [512i64, 513, 514, 516].into_iter().cycle().take(number as usize);
    answers.fold(7, |sum, answer| sum.wrapping_add(meeting(std::hint::black_box(-answer as u64))))
}

/// How many threads a storm has.
const THREADS: u64 = 4;

/// Calls all of them `number` times in each of some threads.
fn storm(number: u64) -> u64 {
    std::thread::scope(|scope| {
        let threads = [(); THREADS as usize].map(|()| scope.spawn(move || calls(number)));
        threads.into_iter().fold(0, |sum: u64, thread| sum.wrapping_add(thread.join().expect("it ends")))
    })
}

extern "C" fn on_signal(_: i32) {}

/// Calls all of them `number` times, while another thread sends signals as fast as it can.
fn signalled(number: u64) -> u64 {
    // SAFETY: the handler does nothing.
    unsafe { nix::sys::signal::signal(nix::sys::signal::SIGUSR1, nix::sys::signal::SigHandler::Handler(on_signal)) }
        .expect("a handler");
    let (thread, is_over) = (nix::unistd::gettid(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // SAFETY: it sends a signal to a thread of this process.
                unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread.as_raw(), libc::SIGUSR1) };
            }
        });
        let sum = calls(number);
        is_over.store(true, Ordering::Relaxed);
        sum
    })
}

/// Makes `number` system calls.
#[inline(never)]
fn asks(number: u64) -> u64 {
    let mut sum: u64 = 0;
    for _ in 0..number {
        let answer: u64;
        // SAFETY: the call asks for a number, and changes nothing else.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            std::arch::asm!("syscall", inlateout("rax") libc::SYS_getpid => answer, out("rcx") _, out("r11") _);
            #[cfg(target_arch = "aarch64")]
            std::arch::asm!("svc #0", in("x8") libc::SYS_getpid, out("x0") answer);
        }
        sum = sum.wrapping_mul(3) ^ answer;
    }
    sum
}

/// Where a stopped process is, as procfs tells.
fn program_counter(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/syscall")).expect("it lives");
    let word = text.split_whitespace().next_back().and_then(|word| word.strip_prefix("0x"));
    u64::from_str_radix(word.unwrap_or_else(|| panic!("{text:?}")), 16).expect("a number")
}

/// A uprobe in this program; nothing where there are none.
fn probe(victim: &Victim, address: u64) -> Option<OwnedFd> {
    let program = std::env::current_exe().expect("procfs");
    uprobe(victim.id(), &program, address - this_program().base()).ok()
}

/// A breakpoint that has something to do at no hit: each one is looked at on the way to user mode, where threads are held too.
fn held_never(address: u64) -> [u8; Site::BYTES] {
    let never = Condition { subject: Subject::Hits, relation: Relation::Equal, value: u64::MAX };
    Site { address, actions: action::HOLD, memory: Memory::NONE, condition: Some(never) }.bytes()
}

/// Whether an address lies where uprobes have threads carry out instructions.
fn is_of_uprobes(victim: &Victim, address: u64) -> bool {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", victim.id())).expect("it lives");
    maps.lines().filter(|line| line.ends_with("[uprobes]")).any(|line| {
        let (start, end) = line.split_whitespace().next().and_then(|range| range.split_once('-')).expect("a range");
        let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).expect("a number"));
        (start..end).contains(&address)
    })
}

/// The addresses of all instructions of an i386 program that has nothing else between them.
fn narrow_instructions(program: &Path) -> Vec<u64> {
    let bytes = read(program).expect("it was built");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let text = file.section_by_name(".text").expect("code");
    let (mut rest, mut at, mut found) = (text.data().expect("bytes"), text.address(), Vec::new());
    while !rest.is_empty() {
        let length = insn::x86::decode(rest, insn::x86::Mode::INTEL_32).expect("an instruction").len();
        found.push(at);
        (rest, at) = (&rest[length..], at + length as u64);
    }
    found
}

fn narrow_words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
}

/// A process of tests/programs/narrow.c.
struct Narrow {
    program: Program,
    child: Child,
    to: ChildStdin,
    from: ChildStdout,
}

impl Narrow {
    /// It, and where `leaf` is; nothing where it cannot be built.
    fn start() -> Option<(Narrow, u64)> {
        let flags = ["-m32", "-O1", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-fno-stack-protector"];
        let program = Program::build("narrow.c", &flags)?;
        let mut child =
            in_turn(|| Process::new(program.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()).unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut narrow = Narrow { program, child, to, from };
        let leaf = narrow.word().into();
        Some((narrow, leaf))
    }

    /// Asks it for the sum of `number` calls.
    fn send(&mut self, number: u32) {
        self.to.write_all(&number.to_ne_bytes()).unwrap();
    }

    fn word(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.from.read_exact(&mut bytes).unwrap();
        u32::from_ne_bytes(bytes)
    }

    fn ask(&mut self, number: u32) -> u32 {
        self.send(number);
        self.word()
    }

    fn end(mut self) {
        drop(self.to);
        assert!(self.child.wait().unwrap().success());
    }
}

/// gdb, attached. What it answers ends with a line that is only `done`.
struct Gdb(Child);

impl Gdb {
    fn attach(process: u32) -> Option<Gdb> {
        Path::new("/usr/bin/gdb").exists().then(|| {
            let mut gdb = Process::new("/usr/bin/gdb");
            gdb.args(["-nx", "-q", "-ex", "set confirm off", "-ex", "set pagination off", "-p", &process.to_string()]);
            Gdb(in_turn(|| gdb.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn())
                .expect("gdb starts"))
        })
    }

    fn ask(&mut self, command: &str) -> Vec<String> {
        let to = self.0.stdin.as_mut().expect("a pipe");
        writeln!(to, "{command}\necho \\ndone\\n").expect("gdb lives");
        let mut lines = BufReader::with_capacity(1, self.0.stdout.as_mut().expect("a pipe")).lines();
        let lines = lines.by_ref().map(|line| line.expect("gdb writes text"));
        lines.take_while(|line| line != "done").collect()
    }

    /// The program counter.
    fn pc(&mut self) -> u64 {
        let answer = self.ask("output/x (unsigned long)$pc").concat();
        let number = answer.rsplit("0x").next().and_then(|number| u64::from_str_radix(number.trim(), 16).ok());
        number.unwrap_or_else(|| panic!("{answer:?}"))
    }
}

impl Drop for Gdb {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs into the module's breakpoint instruction where no breakpoint is, with `SIGTRAP` blocked where the number is 1, ignored where it
/// is 2.
fn breaks(number: u64) -> u64 {
    // SAFETY: all that is pointed to is there, and what the instruction does is the kernel's to say.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGTRAP);
        if number == 1 {
            libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        }
        if number == 2 {
            libc::signal(libc::SIGTRAP, libc::SIG_IGN);
        }
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!("int3");
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!("brk #0x7562");
    }
    number
}

crossing::channel_tests! {
    a_breakpoint_instruction_of_the_programs_own_ends_it_though_it_blocks_or_ignores_the_signal {
        for traced in [false, true] {
            for number in [0, 1, 2] {
                let mut victim = Victim::start(breaks);
                let mut file = open();
                if traced {
                    let debuggee = attach(&mut file, victim.id()).unwrap();
                    insert(&mut file, debuggee, &[leaf as *const () as u64]).unwrap();
                }
                victim.order(number);
                assert_eq!(victim.end(), libc::SIGTRAP, "{number}, traced: {traced}");
            }
        }
    }

    a_uprobe_elsewhere_in_the_process_counts_as_ever {
        let mut victim = Victim::start(calls);
        let expected = victim.ask(50);
        let sites = this_program().function(leaf as *const () as u64).instructions();
        let Some(before) = probe(&victim, other as *const () as u64) else { return skip("a_uprobe_elsewhere", "no uprobes") };
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        assert_eq!(insert(&mut file, debuggee, &sites), Ok((sites.len() as u64, vec![])));
        let behind = probe(&victim, other as *const () as u64).unwrap();
        assert_eq!(victim.ask(50), expected);
        assert_eq!(counts(&mut file, debuggee, &sites[..1]), Ok(vec![50]));
        assert_eq!((hits(&before), hits(&behind)), (50, 50));
        drop(file);
        assert_eq!(victim.ask(50), expected);
        assert_eq!((hits(&before), hits(&behind)), (100, 100));
    }

    a_uprobe_that_is_there_before_counts_beside_a_breakpoint {
        let mut victim = Victim::start(calls);
        let expected = victim.ask(50);
        let site = meeting as *const () as u64;
        let Some(probe) = probe(&victim, site) else { return skip("a_uprobe_that_is_there_before", "no uprobes") };
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        assert_eq!(insert(&mut file, debuggee, &[site]), Ok((1, vec![])));
        assert_eq!(victim.ask(50), expected);
        assert_eq!((counts(&mut file, debuggee, &[site]), hits(&probe)), (Ok(vec![50]), 50));
        // One that has something to do first.
        let acts = Site { address: site, actions: action::RECORD, memory: Memory::NONE, condition: None }.bytes();
        ask(&mut file, Command::Remove { debuggee, addresses: &site.to_ne_bytes() }, |told| assert!(told.is_ok()));
        ask(&mut file, Command::Insert { debuggee, sites: &acts }, |told| assert!(told.is_ok()));
        assert_eq!((victim.ask(50), hits(&probe)), (expected, 100));
        drop(file);
        assert_eq!((victim.ask(50), hits(&probe)), (expected, 150));
    }

    a_uprobe_that_comes_and_goes_where_a_breakpoint_is_counts_beside_it{
        let mut victim = Victim::start(calls);
        let expected = victim.ask(50);
        let site = meeting as *const () as u64;
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        assert_eq!(insert(&mut file, debuggee, &[site]), Ok((1, vec![])));
        for round in 1..=3 {
            let Some(probe) = probe(&victim, site) else { return skip("a_uprobe_that_comes_and_goes", "no uprobes") };
            assert_eq!((victim.ask(50), hits(&probe)), (expected, 50));
            assert_eq!(counts(&mut file, debuggee, &[site]), Ok(vec![round * 100 - 50]));
            drop(probe);
            assert_eq!(victim.ask(50), expected);
            assert_eq!(counts(&mut file, debuggee, &[site]), Ok(vec![round * 100]));
        }
        drop(file);
        assert_eq!(victim.ask(50), expected);
    }

    uprobes_of_other_processes_come_and_go_and_no_hit_is_lost {
        let [mut victim, mut other] = [(); 2].map(|()| Victim::start(calls));
        let expected = victim.ask(50);
        let site = meeting as *const () as u64;
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        // It had one itself.
        drop(probe(&victim, site));
        assert_eq!(insert(&mut file, debuggee, &[site]), Ok((1, vec![])));
        let mut asked = 0;
        std::thread::scope(|scope| {
            let rounds = scope.spawn(|| {
                for _ in 0..30 {
                    let Some(probe) = probe(&other, site) else { return skip("uprobes_of_other_processes", "no uprobes") };
                    assert_eq!((other.ask(50), hits(&probe)), (expected, 50));
                }
            });
            while !rounds.is_finished() {
                asked += 50;
                assert_eq!((victim.ask(50), counts(&mut file, debuggee, &[site])), (expected, Ok(vec![asked])));
            }
        });
    }

    a_breakpoint_stays_where_uprobes_would_make_a_call_of_the_instruction {
        #[cfg(target_arch = "x86_64")]
        {
            let mut victim = Victim::start(padded_calls);
            let expected = victim.ask(50);
            let site = padded as *const () as u64;
            let mut file = open();
            let debuggee = attach(&mut file, victim.id()).unwrap();
            assert_eq!(insert(&mut file, debuggee, &[site]), Ok((1, vec![])));
            for round in 1..=3 {
                let Some(probe) = probe(&victim, site) else { return skip("a_breakpoint_stays_where", "no uprobes") };
                assert_eq!((victim.ask(50), hits(&probe)), (expected, 50));
                drop(probe);
                assert_eq!(victim.ask(50), expected);
                assert_eq!(counts(&mut file, debuggee, &[site]), Ok(vec![round * 100]));
            }
            drop(file);
            assert_eq!(victim.ask(50), expected);
        }
    }

    where_a_uprobe_is_a_call_a_breakpoint_is_refused_or_counts {
        #[cfg(target_arch = "x86_64")]
        {
            let mut victim = Victim::start(padded_calls);
            let expected = victim.ask(50);
            let site = padded as *const () as u64;
            let Some(probe) = probe(&victim, site) else { return skip("where_a_uprobe_is_a_call", "no uprobes") };
            assert_eq!((victim.ask(50), hits(&probe)), (expected, 50));
            let mut file = open();
            let debuggee = attach(&mut file, victim.id()).unwrap();
            let (inserted, failures) = insert(&mut file, debuggee, &[site]).unwrap();
            assert_eq!(inserted, u64::from(failures.is_empty()));
            assert!(failures.iter().all(|[_, status, _]| *status == Status::Unsupported as u64), "{failures:?}");
            assert_eq!((victim.ask(50), hits(&probe)), (expected, 100));
            drop(probe);
            assert_eq!(victim.ask(50), expected);
            if inserted == 0 {
                assert_eq!(insert(&mut file, debuggee, &[site]), Ok((1, vec![])));
            }
            assert_eq!(victim.ask(50), expected);
            assert_eq!(counts(&mut file, debuggee, &[site]), Ok(vec![50 + 100 * inserted]));
            drop(file);
            assert_eq!(victim.ask(50), expected);
            let mut there = [0; 5];
            let file = std::fs::File::open(format!("/proc/{}/mem", victim.id())).expect("procfs");
            std::os::unix::fs::FileExt::read_exact_at(&file, &mut there, site).expect("it is mapped");
            assert_eq!(there, [0x66, 0x2e, 0x0f, 0x1f, 0x84]);
        }
    }

    a_uprobe_stays_when_the_breakpoint_goes_that_was_there_before_it{
        let mut victim = Victim::start(calls);
        let expected = victim.ask(50);
        let site = meeting as *const () as u64;
        let mut first = open();
        let mut second = open();
        let [one, two] = [&mut first, &mut second].map(|file| {
            let debuggee = attach(file, victim.id()).unwrap();
            assert_eq!(insert(file, debuggee, &[site]), Ok((1, vec![])));
            debuggee
        });
        let Some(probe) = probe(&victim, site) else { return skip("a_uprobe_stays", "no uprobes") };
        assert_eq!((victim.ask(50), hits(&probe)), (expected, 50));
        let told = [counts(&mut first, one, &[site]), counts(&mut second, two, &[site])];
        assert_eq!(told, [Ok(vec![50]), Ok(vec![50])]);
        ask(&mut first, Command::Remove { debuggee: one, addresses: &site.to_ne_bytes() }, |told| assert!(told.is_ok()));
        assert_eq!((victim.ask(50), hits(&probe)), (expected, 100));
        assert_eq!(counts(&mut second, two, &[site]), Ok(vec![100]));
        drop(second);
        assert_eq!((victim.ask(50), hits(&probe)), (expected, 150));
        drop(probe);
        assert_eq!(victim.ask(50), expected);
    }

    a_breakpoint_stays_when_the_uprobe_goes_that_was_there_before_it{
        let mut victim = Victim::start(calls);
        let expected = victim.ask(50);
        let site = meeting as *const () as u64;
        let Some(probe) = probe(&victim, site) else { return skip("a_breakpoint_stays", "no uprobes") };
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        assert_eq!(insert(&mut file, debuggee, &[site]), Ok((1, vec![])));
        assert_eq!((victim.ask(50), hits(&probe)), (expected, 50));
        drop(probe);
        assert_eq!(victim.ask(50), expected);
        assert_eq!(counts(&mut file, debuggee, &[site]), Ok(vec![100]));
        drop(file);
        assert_eq!(victim.ask(50), expected);
    }

    a_uprobe_counts_while_a_breakpoint_at_its_place_comes_and_goes {
        let mut victim = Victim::start(calls);
        let expected = victim.ask(50);
        let site = meeting as *const () as u64;
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        let mut told = Vec::new();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    // What stood there has changed meanwhile.
                    let changed = vec![[0, Status::Memory as u64, site]];
                    let told = insert(&mut file, debuggee, &[site]);
                    assert!([Ok((1, vec![])), Ok((0, changed))].contains(&told), "{told:?}");
                    let addresses = &site.to_ne_bytes();
                    ask(&mut file, Command::Remove { debuggee, addresses }, |told| assert!(told.is_ok()));
                }
            });
            for _ in 0..20 {
                let Some(probe) = probe(&victim, site) else {
                    skip("a_uprobe_counts_while", "no uprobes");
                    break;
                };
                told.push((victim.ask(50), hits(&probe)));
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert!(told.iter().all(|told| *told == (expected, 50)), "{told:?}");
    }

    who_comes_by_a_uprobe_is_not_taken_for_a_system_call {
        let mut victim = Victim::start(begins_anew);
        let expected = victim.ask(40);
        let site = meeting as *const () as u64;
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        let Some(probe) = probe(&victim, site) else { return skip("who_comes_by_a_uprobe", "no uprobes") };
        assert_eq!((victim.ask(40), hits(&probe)), (expected, 40));
        assert_eq!(insert(&mut file, debuggee, &[site]), Ok((1, vec![])));
        assert_eq!((victim.ask(40), hits(&probe)), (expected, 80));
    }

    signals_come_to_a_thread_whose_hit_waits_and_is_then_a_uprobes {
        let mut victim = Victim::start(signalled);
        let expected = victim.ask(2_000);
        let site = meeting as *const () as u64;
        let mut line = Line::open();
        let debuggee = line.attach(victim.id(), 0).unwrap();
        let Some(probe) = probe(&victim, site) else { return skip("signals_come_to_a_thread", "no uprobes") };
        line.ask(Command::Insert { debuggee, sites: &held_never(site) }, |told| assert!(told.is_ok(), "{told:?}"));
        assert_eq!((victim.ask(2_000), hits(&probe)), (expected, 2_000));
        let counted = line.ask(Command::Counts { debuggee, addresses: &site.to_ne_bytes() }, |told| match told {
            Ok(Reply::Counts { counts }) => counts.to_vec(),
            other => panic!("{other:?}"),
        });
        assert_eq!(counted, 2_000u64.to_ne_bytes());
    }

    uprobes_come_and_go_where_a_thread_is_held_that_runs_into_them {
        let mut victim = Victim::start(calls);
        let expected = victim.ask(20_000);
        let site = meeting as *const () as u64;
        let mut line = Line::open();
        let debuggee = line.attach(victim.id(), 0).unwrap();
        line.ask(Command::Insert { debuggee, sites: &held_never(site) }, |told| assert!(told.is_ok(), "{told:?}"));
        let thread = u64::from(victim.id());
        for _ in 0..30 {
            let Some(probe) = probe(&victim, site) else { return skip("uprobes_come_and_go_where_a_thread", "no uprobes") };
            victim.order(20_000);
            assert_eq!(line.done(Command::Hold { debuggee, thread }), Ok(()));
            let (_, _, address) = line.held();
            assert!(address != site + 1 && !is_of_uprobes(&victim, address), "{address:#x}: uprobes are not done with it");
            drop(probe);
            line.ask(Command::Counts { debuggee, addresses: &site.to_ne_bytes() }, |told| assert!(told.is_ok()));
            assert_eq!(line.done(Command::Resume { thread }), Ok(()));
            assert_eq!(victim.answer(), expected);
        }
    }

    uprobes_come_and_go_where_threads_run_into_breakpoints{
        let mut victim = Victim::start(storm);
        let expected = victim.ask(50);
        let sites = [meeting as *const () as u64, leaf as *const () as u64];
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        assert_eq!(insert(&mut file, debuggee, &sites), Ok((2, vec![])));
        victim.order(20_000);
        for _ in 0..10 {
            for site in sites {
                let Some(probe) = probe(&victim, site) else { return skip("uprobes_come_and_go", "no uprobes") };
                drop(probe);
            }
        }
        let _ = victim.answer();
        // Hits in the moment of a change may be lost, and breakpoints are what they were behind it.
        let before = counts(&mut file, debuggee, &sites).unwrap();
        assert_eq!(victim.ask(50), expected);
        let after = counts(&mut file, debuggee, &sites).unwrap();
        assert_eq!(after, before.iter().map(|count| count + 50 * THREADS).collect::<Vec<_>>());
    }

    gdb_stops_at_its_own_breakpoints_beside_those_of_the_channel {
        let mut victim = Victim::start(calls);
        let expected = victim.ask(20);
        let sites = this_program().function(leaf as *const () as u64).instructions();
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        assert_eq!(insert(&mut file, debuggee, &sites), Ok((sites.len() as u64, vec![])));
        let Some(mut gdb) = Gdb::attach(victim.id()) else { return skip("gdb_stops_at_its_own", "gdb is not installed") };
        let place = other as *const () as u64;
        gdb.ask(&format!("break *{place:#x}"));
        victim.order(20);
        gdb.ask("continue");
        assert_eq!(gdb.pc(), place);
        gdb.ask("delete 1");
        gdb.ask("detach");
        assert_eq!(victim.answer(), expected);
        assert_eq!(counts(&mut file, debuggee, &sites[..1]), Ok(vec![20]));
    }

    gdb_steps_over_breakpoints_of_the_channel_as_if_there_were_none {
        let [leaf, other] = [leaf as *const () as u64, other as *const () as u64];
        let sites: Vec<u64> = [leaf, other].into_iter().flat_map(|function| this_program().function(function).instructions()).collect();
        let steps = |sites: &[u64]| {
            let mut victim = Victim::start(calls);
            let expected = victim.ask(3);
            let mut file = open();
            let debuggee = attach(&mut file, victim.id()).unwrap();
            assert_eq!(insert(&mut file, debuggee, sites), Ok((sites.len() as u64, vec![])));
            let mut gdb = Gdb::attach(victim.id())?;
            gdb.ask(&format!("tbreak *{:#x}", other));
            victim.order(3);
            gdb.ask("continue");
            let step = |_| (gdb.ask("stepi"), gdb.pc()).1;
            let steps: Vec<u64> = (0..60).map(step).collect();
            drop(gdb);
            assert_eq!(victim.answer(), expected);
            Some(steps)
        };
        let without: Vec<u64> = sites.iter().copied().filter(|site| *site != other).collect();
        match (steps(&[]), steps(&without)) {
            (Some(alone), Some(beside)) => assert_eq!(beside, alone),
            _ => skip("gdb_steps_over_breakpoints", "gdb is not installed"),
        }
    }

    a_tracer_sees_the_programs_own_code_at_system_calls_with_breakpoints {
        let mut victim = Victim::start(asks);
        let expected = victim.ask(3);
        let sites = this_program().function(asks as *const () as u64).instructions();
        let call = *sites.iter().find(|site| is_system_call(**site)).expect("a system call");
        let behind = sites[sites.iter().position(|site| *site == call).expect("it is one") + 1];
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        assert_eq!(insert(&mut file, debuggee, &[call]), Ok((1, vec![])));
        let process = Pid::from_raw(victim.id() as i32);
        ptrace::seize(process, ptrace::Options::PTRACE_O_TRACESYSGOOD).unwrap();
        ptrace::interrupt(process).unwrap();
        waitpid(process, None).unwrap();
        victim.order(3);
        let mut seen = Vec::new();
        // Each call has two stops; the order is read before, and the answer written behind.
        while seen.len() < 8 {
            ptrace::syscall(process, None).unwrap();
            if let WaitStatus::PtraceSyscall(_) = waitpid(process, None).unwrap() {
                seen.push(program_counter(victim.id()));
            }
        }
        ptrace::detach(process, None).unwrap();
        assert_eq!(seen.iter().filter(|pc| **pc == behind).count(), 6, "{seen:x?}, not {behind:#x}");
        assert_eq!(victim.answer(), expected);
        assert_eq!(counts(&mut file, debuggee, &[call]), Ok(vec![3]));
    }

    a_program_of_32_bits_has_breakpoints_as_others_have {
        let Some((mut narrow, leaf)) = Narrow::start() else {
            return skip("a_program_of_32_bits", "gcc makes none here");
        };
        let expected = narrow.ask(1000);
        let mut file = open();
        let debuggee = attach(&mut file, narrow.child.id()).unwrap();
        let sites = narrow_instructions(narrow.program.path());
        assert!(sites.contains(&leaf));
        assert_eq!(insert(&mut file, debuggee, &sites), Ok((sites.len() as u64, vec![])));
        assert_eq!(narrow.ask(1000), expected);
        assert_eq!(counts(&mut file, debuggee, &[leaf]), Ok(vec![1000]));
        drop(file);
        assert_eq!(narrow.ask(1000), expected);
        narrow.end();
    }

    a_held_thread_of_32_bits_goes_on_with_other_registers {
        let Some((mut narrow, leaf)) = Narrow::start() else {
            return skip("a_held_thread_of_32_bits", "gcc makes none here");
        };
        let mut line = Line::open();
        let debuggee = line.attach(narrow.child.id(), 0).unwrap();
        let site = Site { address: leaf, actions: action::HOLD, memory: Memory::NONE, condition: None };
        line.ask(Command::Insert { debuggee, sites: &site.bytes() }, |told| assert!(told.is_ok(), "{told:?}"));
        narrow.send(2);
        let thread = narrow.child.id().into();
        for answer in [70, 7] {
            line.event(|event| assert!(matches!(event, Event::Held { address, .. } if address == leaf), "{event:?}"));
            let mut registers: Vec<u32> = line.ask(Command::Registers { thread }, |told| match told {
                Ok(Reply::Registers { registers }) => narrow_words(registers),
                other => panic!("{other:?}"),
            });
            // As struct user_regs_struct32 has them.
            let [ax, ip, sp] = [6, 12, 15];
            assert_eq!((registers.len(), u64::from(registers[ip])), (17, leaf));
            let stack = Command::ReadMemory { debuggee, address: registers[sp].into(), length: 4 };
            let back = line.ask(stack, |told| match told {
                Ok(Reply::ReadMemory { bytes }) => narrow_words(bytes)[0],
                other => panic!("{other:?}"),
            });
            // It returns at once, with another answer.
            (registers[ax], registers[ip], registers[sp]) = (answer, back, registers[sp] + 4);
            let bytes: Vec<u8> = registers.iter().flat_map(|word| word.to_ne_bytes()).collect();
            assert_eq!(line.done(Command::SetRegisters { thread, registers: &bytes }), Ok(()));
            assert_eq!(line.done(Command::Resume { thread }), Ok(()));
        }
        assert_eq!(narrow.word(), 77);
        narrow.end();
    }
}
