//! What a thread is taken for that says only what its registers hold.

use insn::x86::{Flags, Reg};
use stepping::x86::Registers;
use stepping::{Fault, Memory};

struct Plain;

impl Registers for Plain {
    fn get(&self, _: Reg) -> u64 {
        0
    }
    fn set(&mut self, _: Reg, _: u64) {}
}

impl Memory for Plain {
    fn read(&mut self, address: u64, _: &mut [u8]) -> Result<(), Fault> {
        Err(Fault::Page(address))
    }
    fn write(&mut self, address: u64, _: &[u8]) -> Result<(), Fault> {
        Err(Fault::Page(address))
    }
}

#[test]
fn it_has_no_shadow_stack_no_apx_no_tags_four_levels_of_pages_and_any_flag_can_be_set() {
    assert!(!Plain.shadow_stack() && !Plain.apx());
    assert_eq!(Plain.linear_address_bits(), 48);
    assert_eq!(Plain.untagged(0xff00_0000_0000_1234), 0xff00_0000_0000_1234);
    assert_eq!(Plain.settable_flags(), Flags::from_bits(u32::MAX));
}

#[test]
fn its_shadow_stack_is_written_as_other_memory() {
    assert_eq!(Plain.write_shadow_stack(0x1000, &[0; 8]), Err(Fault::Page(0x1000)));
}
