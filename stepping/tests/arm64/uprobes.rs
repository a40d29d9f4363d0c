//! What uprobes do with instructions, by class. The running kernel is asked in the room `tests`.

use stepping::Uprobe::{Passed, Refused, Wrong};
use stepping::arm64::UprobeDeviation::*;
use stepping::arm64::UprobeRefusal::*;
use stepping::arm64::uprobe;

use super::insn;

#[test]
fn each_class_of_instruction_is_told_apart() {
    let rows = [
        ("add x0, x0, #1", 0x9100_0400, Passed),
        ("adrp x0, #0", 0x9000_0000, Passed),
        ("b #4", 0x1400_0001, Passed),
        ("b.ne #8", 0x5400_0041, Passed),
        ("tbnz w0, #0, #4", 0x3700_0020, Passed),
        ("blr x1", 0xd63f_0020, Passed),
        ("ret", 0xd65f_03c0, Passed),
        ("nop", 0xd503_201f, Passed),
        ("paciasp", 0xd503_233f, Passed),
        ("mrs x0, tpidr_el0", 0xd53b_d040, Passed),
        ("ldadd w0, w1, [x2]", 0xb820_0041, Passed),
        ("svc #0", 0xd400_0001, Refused(Exception)),
        ("retaa", 0xd65f_0bff, Refused(AuthenticatedBranch)),
        ("braa x0, x1", 0xd71f_0801, Refused(AuthenticatedBranch)),
        ("msr tpidr_el0, x0", 0xd51b_d040, Refused(SystemRegister)),
        ("mrs x0, daif", 0xd53b_4220, Refused(SystemRegister)),
        ("yield", 0xd503_203f, Refused(Hint)),
        ("autiasp", 0xd503_23bf, Refused(Hint)),
        ("ldr x0, #8", 0x5800_0040, Refused(Literal)),
        ("ldrsw x0, #8", 0x9800_0040, Refused(Literal)),
        ("ldxr w0, [x1]", 0x885f_7c20, Refused(Exclusive)),
        ("ldr d0, #8", 0x5c00_0040, Wrong(UsesCopyAddress)),
        ("ldr q0, #16", 0x9c00_0080, Wrong(UsesCopyAddress)),
        ("cbgt x0, x1, #4", 0xf401_0020, Wrong(NeverBranches)),
    ];
    for (name, word, expected) in rows {
        assert_eq!(uprobe(&insn(word)), expected, "{name}");
    }
}
