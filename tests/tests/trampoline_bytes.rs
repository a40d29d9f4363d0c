//! The bytes of which jumps are made trap on this processor, whatever follows them.
#![cfg(target_arch = "x86_64")]

use crossing::Random;
use crossing::lockstep::{Jumped, Lab};
use crossing::semantics::state_for;
use insn::x86::decode;
use trampoline::x86::{Displacement, TRAPPING, Trap, trap};

/// Bytes behind the byte that is asked about.
const BEHIND: usize = 18;
const SI_KERNEL: i32 = 0x80;

/// The trap of the byte with these bytes behind it; the pc's distance from the byte.
fn asked(lab: &mut Lab, byte: u8, random: &mut Random) -> Option<(i32, i32, u64)> {
    let mut code = [byte; BEHIND + 1];
    random.fill(&mut code[1..]);
    // Prefixes of long instructions, the bytes of jumps, and opcode maps come more often than by chance.
    let often = [0x0f, 0x66, 0xf2, 0xf3, 0xf0, 0x48, 0x62, 0xc4, 0xc5, 0xd5, 0x8f, byte];
    for byte in code.iter_mut().skip(1).take(3) {
        if random.one_in(2) {
            *byte = random.one_of(&often);
        }
    }
    let nop = decode(&[0x90], lab.mode()).expect("an instruction");
    let state = state_for(lab, &nop, random);
    let jumped = Jumped { code: &code, start: 0, probes: &[], keep_dead: true };
    let ending = lab.undisturbed(&jumped, &state).expect("the child lives");
    ending.signal().map(|(signal, code, pc)| (signal, code, pc.wrapping_sub(lab.layout().site())))
}

#[test]
fn every_byte_of_a_jump_traps_whatever_follows() {
    let mut lab = Lab::x86_64();
    let mut random = Random::new(3);
    let count = std::env::var("NTRACE_TRAMPOLINE_BYTES").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    for (byte, kind) in TRAPPING {
        for _ in 0..count {
            let told = asked(&mut lab, byte, &mut random).expect("a signal");
            let expected = match kind {
                Trap::Undefined => told.0 == libc::SIGILL,
                Trap::Breakpoint => (told.0, told.1) == (libc::SIGTRAP, SI_KERNEL),
                _ => (told.0, told.1) == (libc::SIGSEGV, SI_KERNEL),
            };
            assert!(expected && told.2 == kind.distance(), "{byte:02x}: {told:x?}");
        }
    }
}

#[test]
fn displacements_are_of_trapping_bytes_and_all_different() {
    let all: Vec<i32> = Displacement::candidates().map(Displacement::distance).collect();
    assert_eq!(all.len(), TRAPPING.len().pow(4));
    assert!(all.iter().all(|one| one.to_le_bytes().iter().all(|byte| trap(*byte).is_some())));
    assert!(all[..TRAPPING.len()].iter().all(|one| one.to_le_bytes().windows(2).all(|two| two[0] == two[1])));
    let mut sorted = all.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), all.len());
    assert!(Displacement::new(0x0606_0690).is_none());
}
