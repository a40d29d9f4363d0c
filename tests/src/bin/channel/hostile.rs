//! A process that changes while it is traced: mappings come and go, files are cut, it forks, executes, ends.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crossing::Random;

const PAGE: usize = 4096;
/// Pages that are mapped and unmapped.
const WINDOW: usize = 64;
/// Pages of a file that grows and is cut.
const FILE: usize = 16;

/// Prints the addresses where something happens, in one line, then does its worst until it ends or is killed.
pub(crate) fn run(seed: u64) {
    let mut random = Random::new(seed);
    // SAFETY: plain numbers and a name; the results are looked at.
    let (window, shared, file) = unsafe {
        let window = map(0, WINDOW, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1);
        let file = libc::memfd_create(c"hostile".as_ptr(), libc::MFD_CLOEXEC);
        assert!(file >= 0, "{}", std::io::Error::last_os_error());
        let shared = map(0, FILE, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, file);
        (window, shared, File::from_raw_fd(file))
    };
    let stack = (&raw const random).addr();
    let code = (run as fn(u64)) as usize;
    println!("{window} {shared} {stack} {code}");
    let _ = std::io::stdout().flush();
    let seeds: [u64; 3] = std::array::from_fn(|_| random.next());
    std::thread::spawn(move || maps(window, Random::new(seeds[0])));
    std::thread::spawn(move || cuts(&file, Random::new(seeds[1])));
    std::thread::spawn(move || threads(Random::new(seeds[2])));
    loop {
        match random.below(400) {
            0 => {
                let error = Command::new("/proc/self/exe").arg("hostile").arg(random.next().to_string()).exec();
                panic!("{error}");
            }
            1 => std::process::exit(0),
            2..30 => fork(&mut random),
            _ => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    }
}

/// # Safety
/// At an `address` other than 0, nothing that is used lies in `pages` pages.
unsafe fn map(address: usize, pages: usize, protection: i32, flags: i32, file: i32) -> usize {
    // SAFETY: the caller's promise.
    let mapped = unsafe { libc::mmap(address as *mut _, pages * PAGE, protection, flags, file, 0) };
    assert_ne!(mapped, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
    mapped.addr()
}

/// Some pages of the window get another mapping or none, or other permissions.
fn maps(window: usize, mut random: Random) {
    loop {
        let first = random.below(WINDOW as u64) as usize;
        let pages = 1 + random.below((WINDOW - first) as u64) as usize;
        let (address, length) = (window + first * PAGE, pages * PAGE);
        let protection = random.below(8) as i32;
        // SAFETY: nothing that is used lies in the window.
        unsafe {
            match random.below(6) {
                0 => libc::munmap(address as *mut _, length),
                1 => libc::mprotect(address as *mut _, length, protection),
                2 => libc::madvise(address as *mut _, length, libc::MADV_DONTNEED),
                _ => {
                    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
                    let populate = if random.chance(50) { libc::MAP_POPULATE } else { 0 };
                    map(address, pages, protection, flags | populate, -1);
                    0
                }
            };
        }
        if random.one_in(8) {
            std::thread::yield_now();
        }
    }
}

/// What lies behind the end of a mapped file cannot be read.
fn cuts(file: &File, mut random: Random) {
    loop {
        let length = random.below((FILE * PAGE) as u64 + 1);
        // SAFETY: plain numbers.
        unsafe { libc::ftruncate(file.as_raw_fd(), length as i64) };
        std::thread::yield_now();
    }
}

/// Threads come and go.
fn threads(mut random: Random) {
    loop {
        let turns = random.below(1000);
        let thread = std::thread::spawn(move || (0..turns).for_each(|_| std::hint::spin_loop()));
        let _ = thread.join();
    }
}

/// A child lives for a while, or ends at once.
fn fork(random: &mut Random) {
    let turns = random.below(10_000);
    // SAFETY: the child calls nothing but what a child of threads may call.
    unsafe {
        match libc::fork() {
            0 => {
                (0..turns).for_each(|_| std::hint::spin_loop());
                libc::_exit(0)
            }
            child => libc::waitpid(child, std::ptr::null_mut(), 0),
        };
    }
}
