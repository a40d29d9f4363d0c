//! `svc`.

use crate::lab::Lab;
use crate::passing;
use crate::same;
use crate::state::State;

const SVC: u32 = 0xd400_0001;
const GETPID: u64 = 172;
const CLONE: u64 = 220;

#[test]
fn a_system_call_is_as_in_place() {
    same(&[SVC], |state, _| state.general[8] = GETPID);
    // No such call.
    same(&[SVC], |state, _| state.general[8] = 0xffff);
}

#[test]
fn both_sides_of_a_clone_come_out_behind_the_site() {
    let lab = Lab::new(false);
    lab.place(&[SVC]);
    for slot in lab.slots() {
        let mut state = State::random(1, &lab);
        state.general[8] = CLONE;
        state.general[..5].copy_from_slice(&[libc::SIGCHLD as u64, 0, 0, 0, 0]);
        let stop = passing::pass(&lab, SVC, slot, &state);
        let right = stop.signal == libc::SIGTRAP && stop.state.pc == lab.site() + 4;
        let child = stop.state.general[0] as i32;
        if child == 0 {
            // SAFETY: the child ends here, and runs nothing of the test harness.
            unsafe { libc::_exit(if right { 42 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: the child just made, and a place for its status.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert!(right && libc::WIFEXITED(status));
        assert_eq!(libc::WEXITSTATUS(status), 42, "slot at {slot:#x}");
    }
}
