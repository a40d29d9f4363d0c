//! Hardware breakpoints of one thread. The program's memory stays as it is, and no other thread hits them.

use std::io;

use super::{register_set, set_register_set};

/// `struct user_hwdebug_state` (arch/arm64/include/uapi/asm/ptrace.h): the lowest byte of the first word is their number, and each is an
/// address and a control word.
const NT_ARM_HW_BREAK: usize = 0x402;
const MOST: usize = 16;
const WORDS: usize = 1 + 2 * MOST;
/// Enabled, in user mode, at instructions, of all four bytes (DBGBCR<n>_EL1, Arm ARM D24.3.2).
const CONTROL: u64 = 1 | 2 << 1 | 0xf << 5;

/// Makes a thread stop at these addresses, and at no others.
///
/// # Errors
/// The processor has fewer breakpoints, or the kernel refuses them.
pub(in crate::recorder) fn stop_at(tid: u32, addresses: &[u64]) -> io::Result<()> {
    let mut words = [0; WORDS];
    register_set(tid, NT_ARM_HW_BREAK, &mut words)?;
    let count = (words[0] & 0xff) as usize;
    if addresses.len() > count {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let set = words[1..].chunks_exact(2).take(count).take_while(|pair| pair[1] & 1 != 0).count();
    let mut wanted = [0; WORDS];
    for (pair, address) in wanted[1..].chunks_exact_mut(2).zip(addresses) {
        pair.copy_from_slice(&[*address, CONTROL]);
    }
    set_register_set(tid, NT_ARM_HW_BREAK, &wanted[..1 + 2 * addresses.len().max(set)])
}
