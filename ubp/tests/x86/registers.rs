//! Registers that the kernel refuses.

use insn::x86::Reg;
use ubp::{Error, EventKind};

use super::common::*;

#[test]
fn registers_of_which_the_kernel_refuses_one_are_all_as_they_were() {
    let (mut session, pid, _) = at_work_by_ptrace(&["5"]);
    let before = session.registers(pid.leader()).unwrap();
    // The kernel's code segment. The registers before it in the kernel's order were set when it is refused.
    let mut wrong = before;
    for (register, value) in [(Reg::gpr(15), 1), (Reg::RAX, 2), (Reg::RIP, 3), (Reg::CS, 0x10)] {
        assert!(wrong.set(register, value));
    }
    let answer = session.set_registers(pid.leader(), &wrong);
    assert!(matches!(answer, Err(Error::System { .. })), "{answer:?}");
    let after = session.registers(pid.leader()).unwrap();
    assert_eq!(format!("{before:?}"), format!("{after:?}"));
    session.resume(pid.leader()).unwrap();
    let outcome = run(&mut session, pid, |_, _| {});
    assert!(matches!(exit_of(&outcome), EventKind::Exited(_)));
}
