//! The channel and breakpoints.

use std::fs::{File, read_to_string};
use std::os::unix::fs::FileExt;

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crossing::channel::{ask, attach, open};
use crossing::debuggee::this_program;
use crossing::signal;
use crossing::sites::{counts, insert, remove};
use crossing::victim::Victim;
use wire::commands::{Command, Reply};
use wire::{Failure, Status};

fn maps(process: u32) -> String {
    read_to_string(format!("/proc/{process}/maps")).expect("it lives")
}

fn memory(process: u32, address: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    File::open(format!("/proc/{process}/mem")).unwrap().read_exact_at(&mut bytes, address).unwrap();
    bytes
}

#[inline(never)]
extern "C" fn leaf(number: u64) -> u64 {
    std::hint::black_box(number).wrapping_mul(3) ^ 5
}

/// What a handler saw: the place in the code, and the address that was accessed.
static SEEN: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

extern "C" fn on_fault(_: libc::c_int, info: &libc::siginfo_t, context: &mut libc::ucontext_t) {
    // SAFETY: a fault has its address.
    let address = unsafe { info.si_addr() } as u64;
    SEEN[0].store(signal::pc(context), Relaxed);
    SEEN[1].store(address, Relaxed);
    // SAFETY: the page is this program's.
    unsafe { libc::mprotect((address & !4095) as *mut libc::c_void, 4096, libc::PROT_READ | libc::PROT_WRITE) };
}

#[inline(never)]
extern "C" fn store(to: *mut u64, value: u64) -> u64 {
    // SAFETY: callers have such a place.
    unsafe {
        std::ptr::write_volatile(to, value);
        std::ptr::read_volatile(to).wrapping_add(1)
    }
}

/// Stores to a page that can be written only after a signal was handled; tells what its handler saw.
fn faults(number: u64) -> u64 {
    signal::handle(libc::SIGSEGV, 0, on_fault);
    // SAFETY: a page of its own.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_NONE, flags, -1, 0);
        let stored = store(page.cast::<u64>().add(3), number);
        let place = SEEN[0].load(Relaxed).wrapping_sub(store as *const () as u64);
        let address = SEEN[1].load(Relaxed).wrapping_sub(page as u64);
        libc::munmap(page, 4096);
        stored << 32 | place << 16 | address
    }
}

/// Has a child do the work; gives what it came to, and does the same.
fn forks(number: u64) -> u64 {
    // SAFETY: the child does nothing but compute.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::_exit((calls(number) & 0x7f) as i32);
        }
        let mut status = 0;
        libc::waitpid(child, &mut status, 0);
        calls(number) << 16 | status as u64
    }
}

/// Has four threads do the work.
fn threads(number: u64) -> u64 {
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(move || calls(number))).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).fold(0, u64::wrapping_add)
    })
}

/// Calls `leaf` `number` times.
fn calls(number: u64) -> u64 {
    (0..number).fold(7, |sum, step| sum.wrapping_add(leaf(std::hint::black_box(step))))
}

/// Code that gives a number, other code that does, and an instruction that no breakpoint can be set on.
#[cfg(target_arch = "x86_64")]
mod code {
    /// `mov eax, N; ret`
    pub(super) fn gives(number: u8) -> Vec<u8> {
        vec![0xb8, number, 0, 0, 0, 0xc3]
    }

    /// `push N; pop rax; ret`
    pub(super) fn gives_otherwise(number: u8) -> Vec<u8> {
        vec![0x6a, number, 0x58, 0xc3]
    }

    /// `call far [rax]`
    pub(super) const REFUSED: &[u8] = &[0xff, 0x18];
    /// Where the number stands.
    pub(super) const NUMBER: u64 = 1;

    pub(super) fn number(number: u8) -> Vec<u8> {
        vec![number]
    }
}

#[cfg(target_arch = "aarch64")]
mod code {
    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// `movz w0, #N; ret`
    pub(super) fn gives(number: u8) -> Vec<u8> {
        words(&[0x5280_0000 | u32::from(number) << 5, 0xd65f_03c0])
    }

    /// `orr w0, wzr, #1; add w0, w0, #N-1; ret`
    pub(super) fn gives_otherwise(number: u8) -> Vec<u8> {
        words(&[0x3200_03e0, 0x1100_0000 | (u32::from(number) - 1) << 10, 0xd65f_03c0])
    }

    /// `blraa x0, x1`
    pub(super) const REFUSED: &[u8] = &0xd73f_0801u32.to_le_bytes();
    /// Where the number stands.
    pub(super) const NUMBER: u64 = 0;

    pub(super) fn number(number: u8) -> Vec<u8> {
        gives(number)[..2].to_vec()
    }
}

/// A page with code in it, at the same place in this process and in those that it forks.
static PAGE: AtomicU64 = AtomicU64::new(0);

/// Calls the code in the page `number` times.
fn runs(number: u64) -> u64 {
    // SAFETY: code was written there, which is a function without arguments.
    let code: extern "C" fn() -> u32 = unsafe { std::mem::transmute(PAGE.load(Relaxed)) };
    (0..number).map(|_| u64::from(code())).sum()
}

fn write(file: &mut File, debuggee: u64, address: u64, bytes: &[u8]) {
    assert!(ask(file, Command::WriteMemory { debuggee, address, bytes }, |told| told.is_ok()));
}

fn read(file: &mut File, debuggee: u64, address: u64, length: usize) -> Vec<u8> {
    ask(file, Command::ReadMemory { debuggee, address, length: length as u64 }, |told| match told {
        Ok(Reply::ReadMemory { bytes }) => bytes.to_vec(),
        other => panic!("{other:?}"),
    })
}

crossing::channel_tests! {
    what_is_written_over_a_breakpoint_is_what_it_stands_on {
        // Behind the page is the end of its file.
        // SAFETY: a new file and a new mapping.
        let page = unsafe {
            let file = libc::memfd_create(c"code".as_ptr(), 0);
            assert_eq!(libc::ftruncate(file, 4096), 0);
            let protection = libc::PROT_READ | libc::PROT_EXEC;
            libc::mmap(std::ptr::null_mut(), 8192, protection, libc::MAP_PRIVATE, file, 0) as u64
        };
        PAGE.store(page, Relaxed);
        let mut victim = Victim::start(runs);
        let (mut file, mut other) = (open(), open());
        let (debuggee, second) = (attach(&mut file, victim.id()).unwrap(), attach(&mut other, victim.id()).unwrap());
        write(&mut file, debuggee, page, &code::gives(5));
        for (file, debuggee) in [(&mut file, debuggee), (&mut other, second)] {
            assert_eq!(insert(file, debuggee, &[page]), Ok((1, vec![])));
        }
        assert_eq!(victim.ask(2), 10);
        // A part of the instruction.
        write(&mut file, debuggee, page + code::NUMBER, &code::number(7));
        assert_eq!(read(&mut file, debuggee, page, 4), code::gives(7)[..4]);
        assert_eq!(victim.ask(2), 14);
        // Another one, of another length.
        write(&mut file, debuggee, page, &code::gives_otherwise(9));
        assert_eq!(read(&mut other, second, page, 4), code::gives_otherwise(9)[..4]);
        assert_eq!(victim.ask(2), 18);
        for (file, debuggee) in [(&mut file, debuggee), (&mut other, second)] {
            assert_eq!(counts(file, debuggee, &[page]), Ok(vec![6]));
        }
        // Memory has the breakpoint instruction all the time, and nothing is written where something cannot be.
        let raw = memory(victim.id(), page, 4);
        assert_ne!(raw, code::gives_otherwise(9)[..4]);
        let over = Command::WriteMemory { debuggee, address: page, bytes: &[0; 4097] };
        let failed = ask(&mut file, over, |told| told.unwrap_err().status);
        assert_eq!((failed, memory(victim.id(), page, 4)), (Status::Memory, raw));
        assert_eq!(victim.ask(1), 9);
        // One on which none can stand.
        write(&mut other, second, page, code::REFUSED);
        assert_eq!(memory(victim.id(), page, code::REFUSED.len()), code::REFUSED);
        for (file, debuggee) in [(&mut file, debuggee), (&mut other, second)] {
            assert_eq!(counts(file, debuggee, &[page]), Ok(vec![u64::MAX]));
        }
        write(&mut file, debuggee, page, &code::gives(3));
        assert_eq!(victim.ask(1), 3);
        drop((file, other));
        assert_eq!(memory(victim.id(), page, 4), code::gives(3)[..4]);
        assert_eq!(victim.ask(1), 3);
    }

    hits_are_counted_and_the_process_does_what_it_did {
        let mut victim = Victim::start(calls);
        let expected = victim.ask(1000);
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        let site = leaf as *const () as u64;
        assert_eq!(insert(&mut file, debuggee, &[site]), Ok((1, vec![])));
        assert_eq!(counts(&mut file, debuggee, &[site]), Ok(vec![0]));
        for round in 1..=3 {
            assert_eq!(victim.ask(1000), expected);
            assert_eq!(counts(&mut file, debuggee, &[site, site + 1]), Ok(vec![1000 * round, u64::MAX]));
        }
        assert_eq!(remove(&mut file, debuggee, &[site, site]), Ok(1));
        assert_eq!(victim.ask(1000), expected);
        assert_eq!(counts(&mut file, debuggee, &[site]), Ok(vec![u64::MAX]));
        assert_eq!(victim.end(), 0);
    }

    nothing_is_left_of_a_session_that_ends {
        let mut victim = Victim::start(calls);
        let expected = victim.ask(10);
        let (site, before) = (leaf as *const () as u64, maps(victim.id()));
        let code = memory(victim.id(), site, 16);
        for _ in 0..3 {
            let mut file = open();
            let debuggee = attach(&mut file, victim.id()).unwrap();
            assert_eq!(insert(&mut file, debuggee, &[site]), Ok((1, vec![])));
            assert_ne!(memory(victim.id(), site, 16), code);
            assert_ne!(maps(victim.id()), before);
            assert_eq!(victim.ask(10), expected);
            drop(file);
            assert_eq!(memory(victim.id(), site, 16), code);
            assert_eq!(maps(victim.id()), before);
            assert_eq!(victim.ask(10), expected);
        }
    }

    memory_is_read_as_if_there_were_no_breakpoints {
        let victim = Victim::start(calls);
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        let site = leaf as *const () as u64;
        let code = memory(victim.id(), site - 8, 24);
        assert_eq!(insert(&mut file, debuggee, &[site]), Ok((1, vec![])));
        for (start, end) in [(0, 24), (8, 9), (9, 24), (0, 8)] {
            let command = Command::ReadMemory { debuggee, address: site - 8 + start as u64, length: (end - start) as u64 };
            let read = ask(&mut file, command, |told| match told {
                Ok(Reply::ReadMemory { bytes }) => bytes.to_vec(),
                other => panic!("{other:?}"),
            });
            assert_eq!(read, code[start..end], "{start}..{end}");
        }
    }

    every_instruction_of_the_program_can_have_one_at_once {
        let mut victim = Victim::start(calls);
        let expected = victim.ask(100);
        let mut sites = this_program().instructions();
        let leaf = leaf as *const () as u64;
        if Path::new("/sys/kernel/debug/kmemleak").exists() {
            // A debug kernel takes minutes for all of them.
            let mut number = 0;
            sites.retain(|site| {
                number += 1;
                *site == leaf || number % 8 == 0
            });
        }
        let code = memory(victim.id(), sites[0], 64);
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        let (mut inserted, mut failures) = (0, Vec::new());
        for some in sites.chunks(100_000) {
            let (number, refused) = insert(&mut file, debuggee, some).unwrap();
            inserted += number as usize;
            failures.extend(refused);
        }
        assert_eq!(inserted + failures.len(), sites.len());
        assert!(failures.iter().all(|[_, status, _]| *status == Status::Refused as u64), "{failures:x?}");
        assert!(failures.len() * 100 < sites.len(), "{} of {}", failures.len(), sites.len());
        for round in 1..=3 {
            assert_eq!(victim.ask(100), expected);
            assert_eq!(counts(&mut file, debuggee, &[leaf]), Ok(vec![100 * round]));
        }
        drop(file);
        assert_eq!(memory(victim.id(), sites[0], 64), code);
        assert_eq!(victim.ask(100), expected);
    }

    a_session_finds_the_code_below_those_of_another_in_any_order {
        let mut victim = Victim::start(calls);
        let expected = victim.ask(10);
        let (mut file, mut other) = (open(), open());
        let (debuggee, second) = (attach(&mut file, victim.id()).unwrap(), attach(&mut other, victim.id()).unwrap());
        let functions = [calls as *const () as u64, leaf as *const () as u64];
        let mut sites = functions.map(|function| this_program().function(function).instructions()).concat();
        sites.sort_unstable();
        let downwards: Vec<u64> = sites.iter().rev().copied().collect();
        let both_ways = sites.iter().zip(&downwards).flat_map(|(low, high)| [*low, *high]);
        let ends_first: Vec<u64> = both_ways.take(sites.len()).collect();
        for order in [&sites, &downwards, &ends_first] {
            let number = sites.len() as u64;
            assert_eq!(insert(&mut file, debuggee, &sites), Ok((number, vec![])));
            assert_eq!(insert(&mut other, second, order), Ok((number, vec![])), "{order:x?}");
            // The program runs by what the second session has found.
            assert_eq!(remove(&mut file, debuggee, &sites), Ok(number));
            assert_eq!(victim.ask(10), expected);
            assert_eq!(counts(&mut other, second, &[leaf as *const () as u64]), Ok(vec![10]));
            assert_eq!(remove(&mut other, second, order), Ok(number));
        }
    }

    a_signal_in_a_slot_shows_the_programs_own_code {
        let mut victim = Victim::start(faults);
        let expected = victim.ask(5);
        let sites = this_program().function(store as *const () as u64).instructions();
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        assert_eq!(insert(&mut file, debuggee, &sites), Ok((sites.len() as u64, vec![])));
        for _ in 0..3 {
            assert_eq!(victim.ask(5), expected, "{expected:#x}");
        }
        let hits = counts(&mut file, debuggee, &sites).unwrap();
        // The instruction that faulted came again.
        assert_eq!((hits[0], hits.iter().max()), (3, Some(&6)));
    }

    a_forked_child_runs_without_them_and_its_parent_with {
        let mut victim = Victim::start(forks);
        let expected = victim.ask(20);
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        let sites = this_program().function(leaf as *const () as u64).instructions();
        assert_eq!(insert(&mut file, debuggee, &sites), Ok((sites.len() as u64, vec![])));
        for round in 1..=20 {
            assert_eq!(victim.ask(20), expected);
            assert_eq!(counts(&mut file, debuggee, &sites[..1]), Ok(vec![20 * round]));
        }
        drop(file);
        assert_eq!(victim.ask(20), expected);
    }

    what_is_written_over_breakpoints_disturbs_no_thread_that_runs_into_them {
        let mut victim = Victim::start(threads);
        let expected = victim.ask(20_000);
        let sites = this_program().function(leaf as *const () as u64).instructions();
        let bytes = memory(victim.id(), sites[0], (sites[sites.len() - 1] - sites[0]) as usize);
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        assert_eq!(insert(&mut file, debuggee, &sites), Ok((sites.len() as u64, vec![])));
        victim.order(20_000);
        for _ in 0..200 {
            write(&mut file, debuggee, sites[0], &bytes);
        }
        assert_eq!(victim.answer(), expected);
        let before = counts(&mut file, debuggee, &sites[..1]).unwrap();
        victim.ask(5);
        let after = counts(&mut file, debuggee, &sites[..1]).unwrap();
        assert!(after > before);
    }

    threads_lose_no_hit {
        let mut victim = Victim::start(threads);
        let expected = victim.ask(20_000);
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        let sites = this_program().function(leaf as *const () as u64).instructions();
        assert_eq!(insert(&mut file, debuggee, &sites), Ok((sites.len() as u64, vec![])));
        assert_eq!(victim.ask(20_000), expected);
        assert_eq!(counts(&mut file, debuggee, &sites[..1]), Ok(vec![80_000]));
    }

    sessions_end_while_threads_hit_their_breakpoints {
        let mut victim = Victim::start(threads);
        let expected = victim.ask(200_000);
        let sites = this_program().function(leaf as *const () as u64).instructions();
        let code = memory(victim.id(), sites[0], 16);
        let before = maps(victim.id());
        for _ in 0..10 {
            victim.order(200_000);
            let mut rounds = 0;
            for _ in 0..20 {
                let mut file = open();
                let debuggee = attach(&mut file, victim.id()).unwrap();
                assert_eq!(insert(&mut file, debuggee, &sites), Ok((sites.len() as u64, vec![])));
                assert_eq!(remove(&mut file, debuggee, &sites[1..]), Ok(sites.len() as u64 - 1));
                rounds += 1;
            }
            assert_eq!(rounds, 20);
            assert_eq!(victim.answer(), expected);
            assert_eq!(memory(victim.id(), sites[0], 16), code);
        }
        // Threads that have ended leave stacks behind.
        let storage = |maps: &str| maps.lines().filter(|line| line.contains("-xp ")).count();
        assert_eq!(storage(&maps(victim.id())), storage(&before));
    }

    two_sessions_at_one_address_count_for_themselves {
        let mut victim = Victim::start(calls);
        let expected = victim.ask(30);
        let site = leaf as *const () as u64;
        let code = memory(victim.id(), site, 16);
        let (mut first, mut second) = (open(), open());
        let one = attach(&mut first, victim.id()).unwrap();
        let other = attach(&mut second, victim.id()).unwrap();
        assert_eq!(insert(&mut first, one, &[site]), Ok((1, vec![])));
        assert_eq!(victim.ask(30), expected);
        assert_eq!(insert(&mut second, other, &[site]), Ok((1, vec![])));
        assert_eq!(victim.ask(30), expected);
        assert_eq!(counts(&mut first, one, &[site]), Ok(vec![60]));
        drop(first);
        assert_eq!(victim.ask(30), expected);
        assert_eq!(counts(&mut second, other, &[site]), Ok(vec![60]));
        drop(second);
        assert_eq!(memory(victim.id(), site, 16), code);
    }

    what_cannot_carry_a_breakpoint_is_refused_by_its_place {
        let victim = Victim::start(calls);
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        let site = leaf as *const () as u64;
        let data = &raw const file as u64 & !7;
        let sites = [site, 0x1000, site, data];
        let memory = |at, address| [at, Status::Memory as u64, address];
        let failures = vec![memory(1, 0x1000), [2, Status::Exists as u64, site], memory(3, data)];
        assert_eq!(insert(&mut file, debuggee, &sites), Ok((1, failures)));
        let odd = ask(&mut file, Command::Insert { debuggee, sites: &[0; 47] }, |told| told.map(drop));
        assert_eq!(odd, Err(Failure::new(Status::Value, 1)));
    }
}
