//! Pointer authentication.

use crossing::skip;

use crate::lab::Lab;
use crate::same_in;
use crate::state::State;

/// What x1 is after `word`, from x1 as the random states have it and x2 as given.
fn signed(lab: &Lab, word: u32, state: &State) -> State {
    lab.place(&[word]);
    let stop = lab.run(state);
    assert_eq!(stop.signal, libc::SIGTRAP, "{word:#010x}");
    State { pc: state.pc, ..stop.state }
}

/// Whether pointers are signed here at all.
fn signs() -> bool {
    const HWCAP_PACA: u64 = 1 << 30;
    // SAFETY: getauxval takes a number.
    unsafe { libc::getauxval(libc::AT_HWCAP) & HWCAP_PACA != 0 }
}

fn all(pairs: &[(u32, u32)]) {
    if !signs() {
        skip("lockstep_arm64::pointers", "no pointer authentication on this processor");
        return;
    }
    for (sign, word) in pairs {
        let mut lab = Lab::new(false);
        same_in(&mut lab, &[*word], |state, lab| {
            *state = signed(lab, *sign, state);
            lab.place(&[*word]);
        });
    }
}

#[test]
fn authenticated_branches_are_as_in_place() {
    all(&[
        (0xdac1_0041, 0xd71f_0822), // pacia x1, x2; braa x1, x2
        (0xdac1_0441, 0xd71f_0c22), // pacib x1, x2; brab x1, x2
        (0xdac1_23e1, 0xd61f_083f), // paciza x1; braaz x1
        (0xdac1_0041, 0xd73f_0822), // pacia x1, x2; blraa x1, x2
        (0xdac1_27e1, 0xd63f_0c3f), // pacizb x1; blrabz x1
        (0xd503_233f, 0xd65f_0bff), // paciasp; retaa
        (0xd503_237f, 0xd65f_0fff), // pacibsp; retab
    ]);
}

#[test]
fn a_call_through_an_authenticated_x30_is_as_in_place() {
    all(&[(0xdac1_23fe, 0xd63f_0bdf)]); // paciza x30; blraaz x30
}

#[test]
fn branches_that_fail_to_authenticate_are_as_in_place() {
    all(&[
        (0xdac1_0441, 0xd71f_0822), // pacib x1, x2; braa x1, x2
        (0xdac1_0441, 0xd73f_0822), // pacib x1, x2; blraa x1, x2
        (0xd503_237f, 0xd65f_0bff), // pacibsp; retaa
    ]);
}

#[test]
fn signing_and_stripping_are_as_in_place() {
    all(&[
        (0xd503_201f, 0xdac1_0041), // pacia x1, x2
        (0xdac1_0041, 0xdac1_1041), // pacia x1, x2; autia x1, x2
        (0xd503_201f, 0xd503_233f), // paciasp
        (0xd503_233f, 0xd503_23bf), // paciasp; autiasp
        (0xd503_233f, 0xd503_20ff), // paciasp; xpaclri
        (0xdac1_0041, 0xdac1_43e1), // pacia x1, x2; xpaci x1
    ]);
}
