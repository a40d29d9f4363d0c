//! A process that writes over the storage of its breakpoints while its threads run into them.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossing::{Random, signal};
use ubp::core::{Layout, MAGIC};

use crate::streams::FAR_RETURNS;

const PAGE: usize = 4096;
const THREADS: usize = 3;
/// The most bytes of its addresses.
const MEMORY: libc::rlim_t = 1 << 30;
/// Instructions that breakpoints can be set on.
const SITES: usize = 300;
/// Where a header has the number of entries.
const CAPACITY: Range<usize> = 16..20;
/// Bytes of a slot that are written by chance; in the rest no thread gets farther than to its begin.
const IN_SLOT: usize = 17;

#[cfg(target_arch = "x86_64")]
mod machine {
    /// Pushed and popped; moves, arithmetic; of memory behind it; branches; a call and what takes its return address; a vector.
    pub(super) const KINDS: &[&[u8]] = &[
        &[0x50],
        &[0x58],
        &[0x89, 0xf8],
        &[0x48, 0xff, 0xc0],
        &[0x0f, 0x1f, 0x44, 0, 0],
        &[0x48, 0x8d, 0x05, 0, 0, 0, 0],
        &[0x48, 0x8b, 0x05, 0, 0, 0, 0],
        &[0xeb, 0],
        &[0x75, 0],
        &[0xe8, 0, 0, 0, 0],
        &[0x58],
        &[0x66, 0x0f, 0xef, 0xc0],
    ];
    pub(super) const RETURN: &[u8] = &[0xc3];
    pub(super) const BREAKPOINT: &[u8] = &[0xcc];

    /// Lets a thread go on at a function's entry, with the stack that ends at `stack`.
    pub(super) fn enter(context: &mut libc::ucontext_t, function: usize, stack: usize) {
        context.uc_mcontext.gregs[libc::REG_RIP as usize] = function as i64;
        context.uc_mcontext.gregs[libc::REG_RSP as usize] = (stack & !15) as i64 - 8;
    }
}

#[cfg(target_arch = "aarch64")]
mod machine {
    /// Moves, arithmetic; literals and addresses; branches; the stack; a vector.
    pub(super) const KINDS: &[&[u8]] = &[
        &0x2a00_03e1_u32.to_le_bytes(),
        &0x9100_0400_u32.to_le_bytes(),
        &0x9b01_7c00_u32.to_le_bytes(),
        &0x1000_0001_u32.to_le_bytes(),
        &0x5800_0001_u32.to_le_bytes(),
        &0x1400_0001_u32.to_le_bytes(),
        &0xb400_0020_u32.to_le_bytes(),
        &0xf81f_0fe0_u32.to_le_bytes(),
        &0xf841_07e0_u32.to_le_bytes(),
        &0x9c00_0000_u32.to_le_bytes(),
    ];
    pub(super) const RETURN: &[u8] = &0xd65f_03c0_u32.to_le_bytes();
    pub(super) const BREAKPOINT: &[u8] = &0xd42e_ac40_u32.to_le_bytes();

    /// Lets a thread go on at a function's entry, with the stack that ends at `stack`.
    pub(super) fn enter(context: &mut libc::ucontext_t, function: usize, stack: usize) {
        context.uc_mcontext.pc = function as u64;
        context.uc_mcontext.sp = (stack & !15) as u64;
        context.uc_mcontext.pstate &= 0xf000_0000;
    }
}

/// The code that is called.
static CODE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static STACK: Cell<usize> = const { Cell::new(0) };
}

/// Tells its sites in one line, and does its worst until it is ended, by itself too.
pub(crate) fn run(seed: u64) {
    let mut random = Random::new(seed);
    // A thread that went wrong may ask for anything.
    let limit = libc::rlimit { rlim_cur: MEMORY, rlim_max: MEMORY };
    // SAFETY: it reads the limit.
    unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    let sites = make_code();
    let told: Vec<String> = sites.iter().map(usize::to_string).collect();
    println!("{}", told.join(" "));
    let _ = std::io::stdout().flush();
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGTRAP, libc::SIGFPE, libc::SIGSYS] {
        signal::handle(signal, libc::SA_ONSTACK | libc::SA_NODEFER, on_fault);
    }
    for _ in 0..THREADS {
        std::thread::spawn(|| {
            let here = 0_u8;
            STACK.set((&raw const here).addr() & !(PAGE - 1));
            work()
        });
    }
    let mut kept = HashMap::new();
    loop {
        match random.below(1000) {
            0 => std::process::exit(0),
            1..40 => fork(&mut random),
            _ => {}
        }
        for (start, end) in storages() {
            scribble(&mut random, start, end, &sites, &mut kept);
        }
        std::thread::sleep(std::time::Duration::from_micros(random.below(3000)));
    }
}

/// A page of instructions of each kind in turn, and where they begin.
fn make_code() -> Vec<usize> {
    let (mut code, mut sites) = (Vec::new(), Vec::new());
    for kind in machine::KINDS.iter().cycle().take(SITES / machine::KINDS.len() * machine::KINDS.len()) {
        sites.push(code.len());
        code.extend(*kind);
    }
    code.extend(machine::RETURN);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping, which is large enough.
    let start = unsafe {
        let page = libc::mmap(std::ptr::null_mut(), PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert_ne!(page, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        page.cast::<u8>().copy_from_nonoverlapping(code.as_ptr(), code.len());
        // What was only written is fetched after this: the mapping changes.
        assert_eq!(libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_EXEC), 0);
        page.addr()
    };
    CODE.store(start, Ordering::Relaxed);
    sites.iter().map(|site| start + site).collect()
}

/// Calls the code for ever.
extern "C" fn work() -> ! {
    loop {
        call();
    }
}

fn call() {
    // SAFETY: what lies there is a function of no arguments, as long as nobody else writes there.
    let code: extern "C" fn() = unsafe { std::mem::transmute(CODE.load(Ordering::Relaxed)) };
    code();
}

/// A thread that went wrong begins anew; another one ends the process.
extern "C" fn on_fault(_: i32, _: &libc::siginfo_t, context: &mut libc::ucontext_t) {
    let stack = STACK.get();
    if stack == 0 {
        // SAFETY: it does not come back.
        unsafe { libc::_exit(1) };
    }
    machine::enter(context, work as extern "C" fn() -> ! as usize, stack);
}

/// Where code lies that begins as an arena does.
fn storages() -> Vec<(usize, usize)> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let range = |line: &str| {
        let (start, rest) = line.split_once('-')?;
        let (end, rest) = rest.split_once(' ')?;
        let at = |text| usize::from_str_radix(text, 16).ok();
        let is_code = rest.starts_with('r') && rest.get(2..3) == Some("x") && rest.trim_end().ends_with(" 0");
        Some((at(start)?, at(end)?)).filter(|_| is_code)
    };
    let begins_so = |(start, _): &(usize, usize)| {
        let mut magic = [0; MAGIC.len()];
        read(*start, &mut magic) && magic == MAGIC
    };
    maps.lines().filter_map(range).filter(begins_so).collect()
}

/// Reads where nothing may be.
fn read(from: usize, bytes: &mut [u8]) -> bool {
    copy(from, bytes.as_mut_ptr(), bytes.len(), true)
}

/// Writes where nothing may be.
fn write(to: usize, bytes: &[u8]) -> bool {
    copy(to, bytes.as_ptr().cast_mut(), bytes.len(), false)
}

fn copy(there: usize, here: *mut u8, length: usize, is_read: bool) -> bool {
    let local = libc::iovec { iov_base: here.cast(), iov_len: length };
    let remote = libc::iovec { iov_base: there as *mut _, iov_len: length };
    // SAFETY: the kernel looks at the other address, and writes to this one only when it is the caller's to be written.
    let copied = unsafe {
        let process = libc::getpid();
        if is_read {
            libc::process_vm_readv(process, &raw const local, 1, &raw const remote, 1, 0)
        } else {
            libc::process_vm_writev(process, &raw const local, 1, &raw const remote, 1, 0)
        }
    };
    copied == length as isize
}

/// A few changes of one arena and its records; `kept` has arenas as they were first seen.
fn scribble(random: &mut Random, start: usize, end: usize, sites: &[usize], kept: &mut HashMap<usize, Vec<u8>>) {
    let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // SAFETY: it was mapped by somebody else; nothing of this program lies there.
    unsafe { libc::mprotect(start as *mut _, end - start, protection) };
    let before = kept.entry(start).or_insert_with(|| {
        let mut bytes = vec![0; end - start];
        read(start, &mut bytes);
        bytes
    });
    let capacity = before[CAPACITY].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let layout = Layout::new(capacity.min(1 << 16));
    let [index, entries, slots] = [layout.index(), layout.entries(), layout.slots()].map(|offset| offset as usize);
    let used = 1 + random.below(SITES as u64) as usize;
    for _ in 0..random.below(6) {
        match random.below(16) {
            0..4 => {
                // A word of the index leads elsewhere.
                let word = index + 4 * random.below(layout.index_length().into()) as usize;
                let value = if random.chance(70) { random.below(SITES as u64) } else { random.next() };
                write(start + word, &(value as u32).to_le_bytes());
            }
            4..7 => {
                let mut bytes = [random.byte()];
                plain(&mut bytes);
                write(start + entries + random.below(32 * used as u64) as usize, &bytes);
            }
            7 => {
                let mut entry = [0; 32];
                read(start + entries + 32 * random.below(used as u64) as usize, &mut entry);
                write(start + entries + 32 * random.below(used as u64) as usize, &entry);
            }
            8 => {
                let site = random.one_of(sites) as u64;
                write(start + entries + 32 * random.below(used as u64) as usize, &site.to_le_bytes());
            }
            9 => {
                let value = if random.chance(50) { random.below(2 * SITES as u64) } else { random.next() };
                write(start + 8 + 4 * random.below(14) as usize, &(value as u32).to_le_bytes());
            }
            10 => {
                let mut slot = [0; 32];
                random.fill(&mut slot);
                plain(&mut slot);
                let filling = machine::BREAKPOINT.iter().cycle();
                slot.iter_mut().zip(filling).skip(IN_SLOT & !3).for_each(|(byte, filling)| *byte = *filling);
                write(start + slots + 32 * random.below(used as u64) as usize, &slot);
            }
            11 => {
                let mut bytes = [0; 8];
                random.fill(&mut bytes);
                write(end + random.below(64 * used as u64) as usize, &bytes);
            }
            12 => pages(random, start, end),
            // What stood there leads somewhere again.
            _ => {
                write(start, before);
            }
        }
    }
}

/// Does something to pages of an arena or behind it.
fn pages(random: &mut Random, start: usize, end: usize) {
    let (page, protection) = (start + PAGE * random.below(((end - start) / PAGE + 2) as u64) as usize, random.below(8));
    // SAFETY: nothing of this program lies there.
    unsafe {
        match random.below(4) {
            0 => libc::munmap(page as *mut _, PAGE),
            1 => libc::madvise(page as *mut _, PAGE, libc::MADV_DONTNEED),
            _ => libc::mprotect(page as *mut _, PAGE, protection as i32),
        }
    };
}

/// Takes out what must not be executed.
fn plain(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| FAR_RETURNS.contains(byte)).for_each(|byte| *byte = 0);
}

/// A child runs into the same breakpoints.
fn fork(random: &mut Random) {
    let turns = random.below(10);
    // SAFETY: the child calls nothing but the code, and ends.
    unsafe {
        match libc::fork() {
            0 => {
                libc::alarm(1);
                (0..turns).for_each(|_| call());
                libc::_exit(0)
            }
            child => libc::waitpid(child, std::ptr::null_mut(), 0),
        };
    }
}
