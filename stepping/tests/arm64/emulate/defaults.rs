//! What a thread is taken for that says only what its registers hold.

use insn::arm64::Reg;
use stepping::arm64::Registers;

struct Plain;

impl Registers for Plain {
    fn get(&self, _: Reg) -> u64 {
        0
    }
    fn set(&mut self, _: Reg, _: u64) {}
    fn branch_type(&self) -> u8 {
        0
    }
    fn set_branch_type(&mut self, _: u8) {}
}

#[test]
fn it_has_no_guarded_pages_no_guarded_control_stack_and_a_top_byte_that_is_ignored() {
    assert!(!Plain.guarded() && !Plain.control_stack());
    assert_eq!(Plain.untagged(0x2a00_0000_0000_1234), 0x1234);
    assert_eq!(Plain.untagged(0x2aff_ffff_ffff_f000), 0xffff_ffff_ffff_f000);
}
