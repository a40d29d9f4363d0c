//! The module is unloaded while processes have to do with it, and loaded again.
//!
//! Runs alone: other tests need the module.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Mutex;
use std::sync::mpsc::channel;

use crossing::channel::{attach, open};
use crossing::loading::{load, unload};
use crossing::sites::insert;
use crossing::skip;
use crossing::victim::Victim;

/// The variable with the path of the module's file.
const MODULE: &str = "NTRACE_MODULE";

const MAKES_CHILD: u64 = 1 << 32;
const LETS_GO: u64 = MAKES_CHILD + 1;
const PAGE: usize = 4096;

#[inline(never)]
extern "C" fn leaf(number: u64) -> u64 {
    std::hint::black_box(number).wrapping_mul(3) ^ 5
}

fn calls(number: u64) -> u64 {
    (0..number).fold(7, |sum, step| sum.wrapping_add(leaf(std::hint::black_box(step))))
}

/// The child that waits for memory, and the file by which that memory answers.
static CHILD: Mutex<Option<(libc::pid_t, OwnedFd, u64)>> = Mutex::new(None);

/// Calls `leaf`, makes a child that waits for memory before it runs, or gives that memory and returns the child's status.
fn work(number: u64) -> u64 {
    match number {
        MAKES_CHILD => {
            let (child, file, page) = waiting_child();
            *CHILD.lock().unwrap() = Some((child, file, page));
            0
        }
        LETS_GO => {
            let (child, file, page) = CHILD.lock().unwrap().take().expect("there is a child");
            give(&file, page);
            let mut status = 0;
            // SAFETY: the status is this function's.
            unsafe { libc::waitpid(child, &mut status, 0) };
            status as u64
        }
        _ => calls(number),
    }
}

// include/uapi/linux/userfaultfd.h
const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
const UFFDIO_REGISTER: libc::c_ulong = 0xc020_aa00;
const UFFDIO_ZEROPAGE: libc::c_ulong = 0xc020_aa04;
const UFFD_API: u64 = 0xaa;
const UFFD_FEATURE_EVENT_FORK: u64 = 1 << 1;
const UFFDIO_REGISTER_MODE_MISSING: u64 = 1;
const UFFD_EVENT_PAGEFAULT: u8 = 0x12;
const UFFD_EVENT_FORK: u8 = 0x13;

fn control<const N: usize>(file: &impl AsRawFd, request: libc::c_ulong, mut words: [u64; N]) {
    // SAFETY: each request of userfaultfd has a structure of this many words.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), request as _, words.as_mut_ptr()) };
    assert_eq!(done, 0, "{request:#x}: {}", std::io::Error::last_os_error());
}

/// The next message of userfaultfd: its kind, and the first word that the kind has.
fn message(file: &mut File) -> (u8, u64) {
    let mut message = [0; 32];
    file.read_exact(&mut message).expect("a message");
    (message[0], u64::from_ne_bytes(message[8..16].try_into().expect("a word")))
}

/// Has a child call `leaf` and exit. Before it first runs it writes its number to a page that is not there, which the file will give.
fn waiting_child() -> (libc::pid_t, OwnedFd, u64) {
    // SAFETY: the arguments are plain numbers. The mapping is nobody else's.
    let (page, mut file) = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(std::ptr::null_mut(), PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert_ne!(page, libc::MAP_FAILED);
        let file = libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) as i32;
        assert!(file >= 0, "userfaultfd: {}", std::io::Error::last_os_error());
        (page as u64, File::from_raw_fd(file))
    };
    control(&file, UFFDIO_API, [UFFD_API, UFFD_FEATURE_EVENT_FORK, 0]);
    control(&file, UFFDIO_REGISTER, [page, PAGE as u64, UFFDIO_REGISTER_MODE_MISSING, 0]);
    let (to, from) = channel();
    // The fork waits until its message is read.
    let reader = std::thread::spawn(move || {
        let (kind, number) = message(&mut file);
        assert_eq!(kind, UFFD_EVENT_FORK);
        // SAFETY: the message gives a new descriptor.
        let mut of_child = unsafe { File::from_raw_fd(number as u32 as i32) };
        assert_eq!(message(&mut of_child).0, UFFD_EVENT_PAGEFAULT);
        let _ = to.send(of_child);
    });
    let flags = libc::SIGCHLD | libc::CLONE_CHILD_SETTID;
    // SAFETY: the child has a copy of everything, and does nothing but compute.
    let child = unsafe {
        #[cfg(target_arch = "x86_64")]
        let child = libc::syscall(libc::SYS_clone, flags, 0, 0, page, 0);
        #[cfg(target_arch = "aarch64")]
        let child = libc::syscall(libc::SYS_clone, flags, 0, 0, 0, page);
        if child == 0 {
            libc::_exit((calls(20) & 0x7f) as i32);
        }
        child
    };
    assert!(child > 0, "clone: {}", std::io::Error::last_os_error());
    let of_child = from.recv().expect("the child waits");
    reader.join().expect("it has sent");
    (child as libc::pid_t, of_child.into(), page)
}

fn give(file: &OwnedFd, page: u64) {
    control(file, UFFDIO_ZEROPAGE, [page, PAGE as u64, 0, 0]);
}

crossing::channel_tests! {
    a_child_that_was_forked_with_breakpoints_and_runs_after_the_module_has_gone_lives {
        let name = "a_child_that_was_forked_with_breakpoints_and_runs_after_the_module_has_gone_lives";
        let Some(path) = std::env::var_os(MODULE) else {
            return skip(name, format!("no {MODULE}, which `cargo xtask vm test --module` sets"));
        };
        let module = File::open(path).expect("the module's file");
        let mut victim = Victim::start(work);
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        assert_eq!(insert(&mut file, debuggee, &[leaf as *const () as u64]), Ok((1, vec![])));
        victim.ask(10);
        victim.ask(MAKES_CHILD);
        drop(file);
        unload();
        let status = victim.ask(LETS_GO);
        let sum = victim.ask(20);
        load(&module);
        assert_eq!(sum, calls(20));
        assert_eq!(status, (calls(20) & 0x7f) << 8, "{status:#x}");
    }
}
