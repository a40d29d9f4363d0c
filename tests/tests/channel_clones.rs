//! The channel's sessions end while processes are forked and threads are made.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

use crossing::line::Line;
use crossing::thread::FLAGS;
use crossing::victim::Victim;
use wire::commands::{Command, Reply};
use wire::site::{Memory, Site};

/// A system call's instruction, and how far apart instructions may begin.
#[cfg(target_arch = "x86_64")]
const SYSTEM_CALL: (&[u8], usize) = (&[0x0f, 0x05], 1);
#[cfg(target_arch = "aarch64")]
const SYSTEM_CALL: (&[u8], usize) = (&[0x01, 0x00, 0x00, 0xd4], 4);

/// How long sessions come and go.
const SECONDS: u64 = 5;
/// Bytes that a fork takes some time to copy the tables of.
const MEMORY: usize = 64 << 20;

static RUNS: AtomicU32 = AtomicU32::new(0);
static LIVES: AtomicU32 = AtomicU32::new(0);

#[inline(never)]
extern "C" fn leaf(number: u64) -> u64 {
    std::hint::black_box(number).wrapping_mul(3) ^ 5
}

extern "C" fn thread(_: *mut libc::c_void) -> libc::c_int {
    RUNS.fetch_add(leaf(1) as u32 / 6, Relaxed);
    0
}

extern "C" fn process(_: *mut libc::c_void) -> libc::c_int {
    (leaf(3) != 12).into()
}

/// Forks a process, which calls `leaf` and ends; gives how. Namespaces of its own take the kernel some time after the copy of the memory.
fn fork(stack: &mut [u128]) -> i32 {
    let flags = libc::CLONE_NEWIPC | libc::CLONE_NEWPID | libc::CLONE_NEWUTS | libc::CLONE_NEWNS | libc::SIGCHLD;
    let mut status = 0;
    // SAFETY: the copy does nothing but compute, on a copy of the stack.
    unsafe {
        let top = stack.as_mut_ptr_range().end.cast();
        let child = libc::clone(process, top, flags, std::ptr::null_mut());
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
    }
    status
}

/// Makes a thread that calls `leaf`, and waits for its end.
fn clone(stack: &mut [u128]) {
    let lives = LIVES.as_ptr();
    // SAFETY: the thread has the stack until it has ended, and needs nothing that the C library would give it.
    let made = unsafe {
        let top = stack.as_mut_ptr_range().end.cast();
        libc::clone(thread, top, FLAGS, std::ptr::null_mut(), lives, std::ptr::null_mut::<libc::c_void>(), lives)
    };
    assert!(made > 0);
    while LIVES.load(Acquire) != 0 {
        std::hint::spin_loop();
    }
}

/// Makes processes and threads for `seconds`; returns the number of those that went wrong.
fn makes(seconds: u64) -> u64 {
    let memory = vec![1u8; MEMORY];
    let mut stack = vec![0u128; 4096];
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut wrong, mut made) = (0, 0);
    while Instant::now() < end {
        wrong += u64::from(fork(&mut stack) != 0);
        clone(&mut stack);
        made += 1;
    }
    drop(memory);
    wrong + made - u64::from(RUNS.load(Relaxed))
}

/// The system calls of a function of the C library.
fn calls(function: usize) -> Vec<u64> {
    // SAFETY: no function is that close to the end of the library's code.
    let code = unsafe { std::slice::from_raw_parts(function as *const u8, 512) };
    let (bytes, apart) = SYSTEM_CALL;
    let places = code.windows(bytes.len()).enumerate().step_by(apart);
    places.filter(|(_, there)| *there == bytes).map(|(at, _)| (function + at) as u64).collect()
}

crossing::channel_tests! {
    what_is_made_while_a_session_ends_has_no_breakpoint_and_no_slot {
        // A system call that a session breaks on is carried out in a slot, where what it makes begins.
        let mut sites = calls(libc::clone as *const () as usize);
        assert!(!sites.is_empty());
        sites.push(leaf as *const () as u64);
        let addresses: Vec<u8> = sites.iter().flat_map(|site| site.to_ne_bytes()).collect();
        let site = |address: &u64| Site { address: *address, actions: 0, memory: Memory::NONE, condition: None }.bytes();
        let sites: Vec<u8> = sites.iter().flat_map(site).collect();
        // While one is traced the other is not.
        let mut victims = [Victim::start(makes), Victim::start(makes)];
        let (start, mut sessions) = (Instant::now(), 0);
        victims.iter_mut().for_each(|victim| victim.order(SECONDS));
        while start.elapsed().as_secs() < SECONDS {
            let mut line = Line::open();
            let debuggee = line.attach(victims[sessions % 2].id(), 0).unwrap();
            line.ask(Command::Insert { debuggee, sites: &sites }, |told| {
                assert!(matches!(told, Ok(Reply::Insert { inserted: 2.., .. })), "{told:?}");
            });
            // Somebody is on the way then.
            while !line.ask(Command::Counts { debuggee, addresses: &addresses }, |told| match told {
                Ok(Reply::Counts { counts }) => counts.iter().any(|byte| *byte != 0),
                other => panic!("{other:?}"),
            }) {}
            sessions += 1;
        }
        let wrong = victims.map(|mut victim| victim.answer());
        assert_eq!(wrong, [0, 0], "after {sessions} sessions");
    }
}
