//! How a thread leaves a slot, told without its code.

use crate::random::{MODES, Random};
use stepping::x86::{Exit, Plan, plan};

#[test]
fn the_exit_is_that_of_the_assembled_code() {
    // Near, out of reach, and within some bytes of the border of what a near jump and a displacement reach.
    const DISTANCES: [u64; 6] = [0x1000, 0x7fff_ffff, 0x8000_0000, 0x7fff_ff00, 1 << 40, u64::MAX - 0x7fff_ffff];
    let mut random = Random(0x5eed);
    let (mut compared, mut jumps) = (0, 0);
    for round in 0..200_000 {
        let mode = MODES[round % MODES.len()];
        let insn = random.insn(mode);
        let pc = 0x5555_0000_0000 + (random.next() & 0xffff);
        let Plan::Slot(slot) = plan(&insn, pc) else { continue };
        let near =
            DISTANCES[random.next() as usize % DISTANCES.len()].wrapping_add(random.next() & 63).wrapping_sub(32);
        // Around the operand too, whose displacement must reach.
        let from = if round % 3 == 0 { insn.rip_relative_address(pc).unwrap_or(pc) } else { pc };
        let at = if random.next() & 1 == 0 { from.wrapping_add(near) } else { from.wrapping_sub(near) };
        let assembled = slot.assemble(at).map(|code| code.exit);
        assert_eq!(slot.exit(at), assembled, "{insn:?} at {pc:#x}, slot at {at:#x}");
        compared += 1;
        jumps += u32::from(assembled == Ok(Exit::Jump));
    }
    assert!(jumps > 1000 && compared - jumps > 1000, "{jumps} of {compared}");
}
