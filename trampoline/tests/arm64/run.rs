//! Functions behind a branch return what they return undisturbed, and their calls are counted.

use std::ptr::null_mut;

use trampoline::arm64::{Site, branch};

const SIZE: usize = 0x2_0000;
/// Offset of the trampoline from the function.
const TRAMPOLINE: usize = 0x1_0000;

/// Functions of three arguments: code, and the index of the probed instruction.
const FUNCTIONS: &[(&[u32], usize)] = &[
    // add x0, x0, #1; ret
    (&[0x9100_0400, 0xd65f_03c0], 0),
    // mov x16, x0; mov x17, x1; add x0, x16, x17; ret
    (&[0xaa00_03f0, 0xaa01_03f1, 0x8b11_0200, 0xd65f_03c0], 2),
    // cmp x0, x1; cset x0, lo; ret
    (&[0xeb01_001f, 0x9a9f_27e0, 0xd65f_03c0], 1),
    // adr x0, .; sub x0, x0, x0; ret
    (&[0x1000_0000, 0xcb00_0000, 0xd65f_03c0], 0),
    // cbz x0, .+8; add x1, x1, #1; mov x0, x1; ret
    (&[0xb400_0040, 0x9100_0421, 0xaa01_03e0, 0xd65f_03c0], 0),
    // stp x29, x30, [sp, #-16]!; bl .+16; ldp x29, x30, [sp], #16; ret; nop; add x0, x0, x1; ret
    (&[0xa9bf_7bfd, 0x9400_0004, 0xa8c1_7bfd, 0xd65f_03c0, 0xd503_201f, 0x8b01_0000, 0xd65f_03c0], 1),
    // ret
    (&[0xd65f_03c0], 0),
    // stur x0, [sp, #-8]; stur x1, [sp, #-16]; nop; ldp x1, x0, [sp, #-16]; sub x0, x0, x1; ret
    (&[0xf81f_83e0, 0xf81f_03e1, 0xd503_201f, 0xa97f_03e1, 0xcb01_0000, 0xd65f_03c0], 2),
    // ldr x2, .+8; b .+12; literal; add x0, x0, x2; ret
    (&[0x5800_0042, 0x1400_0003, 0x89ab_cdef, 0x0123_4567, 0x8b02_0000, 0xd65f_03c0], 0),
];

fn write(at: usize, words: &[u32]) {
    // SAFETY: callers write inside of the test's own mapping, of which no thread executes these words meanwhile.
    unsafe { (at as *mut u32).copy_from_nonoverlapping(words.as_ptr(), words.len()) };
}

/// Makes written code visible to the fetch of instructions (Arm ARM B2.7.4.1).
fn synchronise(at: usize, size: usize) {
    for line in (at..at + size).step_by(16) {
        // SAFETY: the address is mapped.
        unsafe { std::arch::asm!("dc cvau, {0}", "dsb ish", "ic ivau, {0}", "dsb ish", "isb", in(reg) line) };
    }
}

#[test]
fn functions_behind_a_branch_return_what_they_return_undisturbed() {
    let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let start = unsafe { libc::mmap(null_mut(), SIZE, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED);
    let start = start as usize;
    let mut counter = Box::new(0_u64);
    let has_atomics = std::arch::is_aarch64_feature_detected!("lse");
    for (code, index) in FUNCTIONS {
        for atomics in [false, true] {
            if atomics && !has_atomics {
                continue;
            }
            write(start, code);
            synchronise(start, 64);
            // SAFETY: the code takes three integers and returns one.
            let function: extern "C" fn(u64, u64, u64) -> u64 = unsafe { std::mem::transmute(start) };
            let arguments = [(0, 1), (1, 0), (5, 5), (u64::MAX, 3)];
            let expected = arguments.map(|(first, second)| function(first, second, 0));
            let pc = (start + 4 * index) as u64;
            let site = Site { pc, code, index: *index, guarded: false, control_stack: false, atomics };
            let at = (start + TRAMPOLINE) as u64;
            let trampoline = site.count(std::ptr::from_mut(&mut *counter) as u64, at).expect("a trampoline");
            write(at as usize, trampoline.words());
            write(pc as usize, &[branch(pc, at).expect("within reach")]);
            synchronise(start, 64);
            synchronise(at as usize, 128);
            *counter = 0;
            let found = arguments.map(|(first, second)| function(first, second, 0));
            assert_eq!(found, expected, "{code:08x?}");
            // SAFETY: the counter is alive; the code wrote it behind the compiler's back.
            let counted = unsafe { std::ptr::read_volatile(&raw const *counter) };
            assert_eq!(counted, 4, "{code:08x?}");
        }
    }
}
