//! What is written at a site and in the mirror, and where a trapped thread stands.

use super::bytes::{JUMP_LEN, trap};
use super::{Displacement, Refusal, Trap};

/// Opcode of `jmp rel32`.
const JUMP: u8 = 0xe9;

/// The jump at a site. A thread that begins an instruction at one of its bytes but the first traps.
///
/// ```
/// use trampoline::x86::{Displacement, jump};
///
/// let displacement = Displacement::new(0x0606_0606).expect("06 always traps");
/// assert_eq!(jump(displacement), [0xe9, 6, 6, 6, 6]);
/// ```
pub fn jump(displacement: Displacement) -> [u8; JUMP_LEN] {
    let [a, b, c, d] = displacement.distance().to_le_bytes();
    [JUMP, a, b, c, d]
}

/// The jump at the address `at` of the mirror, which leads to the trampoline at `to`.
///
/// # Errors
/// [`Refusal::OutOfReach`] if they are more than 2 GiB apart.
pub fn mirror_jump(at: u64, to: u64) -> Result<[u8; JUMP_LEN], Refusal> {
    let distance = to.wrapping_sub(at.wrapping_add(JUMP_LEN as u64)) as i64;
    let [a, b, c, d] = i32::try_from(distance).map_err(|_| Refusal::OutOfReach(to))?.to_le_bytes();
    Ok([JUMP, a, b, c, d])
}

/// The offset, 1 to 4, of the byte of the jump at `site` at which a thread trapped; `None` if the jump did not cause the trap.
///
/// The caller knows the trap from the thread's signal, and the thread's pc. The program may have caused the same kind of trap elsewhere.
///
/// ```
/// use trampoline::x86::{Displacement, Trap, covered};
///
/// let displacement = Displacement::new(0x0606_cc06).expect("all of them trap");
/// assert_eq!(covered(0x1000, displacement, Trap::Undefined, 0x1001), Some(1));
/// assert_eq!(covered(0x1000, displacement, Trap::Breakpoint, 0x1003), Some(2));
/// assert_eq!(covered(0x1000, displacement, Trap::Undefined, 0x1000), None);
/// ```
pub fn covered(site: u64, displacement: Displacement, kind: Trap, pc: u64) -> Option<u8> {
    let offset = pc.wrapping_sub(kind.distance()).wrapping_sub(site);
    let index = usize::try_from(offset).ok()?;
    let byte = jump(displacement).get(index).copied()?;
    (index != 0 && trap(byte) == Some(kind)).then_some(index as u8)
}
