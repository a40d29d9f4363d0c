//! Flow and targets.

use super::{decode_padded, insn};
use insn::Flow::{self, *};
use insn::Target;
use insn::x86::{Mode, Reg};

#[test]
fn classes_are_told_by_the_bytes() {
    let table: &[(&str, Flow)] = &[
        ("90", Next),
        ("0f1efa", Next),
        ("eb00", Jump),
        ("e900000000", Jump),
        ("ffe0", Jump),
        ("3effe0", Jump),
        ("ff25 00000000", Jump),
        ("7400", ConditionalJump),
        ("0f8400000000", ConditionalJump),
        ("e200", ConditionalJump),
        ("e300", ConditionalJump),
        ("e800000000", Call),
        ("ffd0", Call),
        ("c3", Return),
        ("c20800", Return),
        ("f3c3", Return),
        ("0f05", Syscall),
        ("cd80", Interrupt),
        ("cc", Trap),
        ("f1", Trap),
        ("cb", Far),
        ("48cf", Far),
        ("ff28", Far),
        ("ff18", Far),
        ("c7f800000000", Transaction),
        ("c6f800", Transaction),
        ("0f01d5", Transaction),
        ("f4", Privileged),
        ("0f30", Privileged),
        ("0f22d8", Privileged),
        ("0f01f8", Privileged),
        ("0f0b", Faulting),
        ("0fb9c0", Faulting),
        ("d500a10000000000000000", Jump),
        // Opcodes of other maps that would be branches without their prefix.
        ("c5f877", Next),
        ("c5fd74c1", Next),
        ("c5f9ebc1", Next),
        ("62f17d48ebc1", Next),
        ("0f38 f000", Next),
    ];
    for (text, flow) in table {
        assert_eq!(insn(text).flow(), *flow, "{text}");
    }
}

#[test]
fn targets_are_relative_to_the_end() {
    let target = |text: &str, mode, pc| decode_padded(text, mode).unwrap().target_address(pc);
    assert_eq!(target("ebfe", Mode::INTEL_64, 0x1000), Some(0x1000));
    assert_eq!(target("e8 00010000", Mode::INTEL_64, 0x1000), Some(0x1105));
    assert_eq!(target("0f84 fbffffff", Mode::INTEL_64, 0x1000), Some(0x1001));
    assert_eq!(target("66e8 0001", Mode::AMD_64, 0x12345), Some(0x2449));
    assert_eq!(target("66e8 00010000", Mode::INTEL_64, 0x12345), Some(0x1244b));
    assert_eq!(target("eb 00", Mode::INTEL_32, 0xffff_fffe), Some(0));
    assert_eq!(target("66eb 00", Mode::INTEL_32, 0x1_2340), Some(0x2343));
    assert_eq!(target("d500a1 8877665544332211", Mode::INTEL_64, 0), Some(0x1122_3344_5566_7788));
    assert_eq!(target("c7f8 10000000", Mode::INTEL_64, 0x1000), Some(0x1016));
    assert_eq!(target("ffe0", Mode::INTEL_64, 0), None);
}

#[test]
fn indirect_targets_name_register_memory_or_stack() {
    let table = [
        ("ffe0", Target::Register(Reg::RAX)),
        ("41ffd7", Target::Register(Reg::gpr(15))),
        ("d511ffd1", Target::Register(Reg::gpr(25))),
        ("ff25 00000000", Target::Memory),
        ("ff1424", Target::Memory),
        ("c3", Target::Stack),
        ("48cb", Target::Stack),
        ("48cf", Target::Stack),
        ("90", Target::None),
        ("0f05", Target::None),
        ("cc", Target::None),
        ("7402", Target::Relative(2)),
        // A prefix, or a REX without B, before the opcode.
        ("67ffe0", Target::Register(Reg::RAX)),
        ("40ffd0", Target::Register(Reg::RAX)),
        ("3effe0", Target::Register(Reg::RAX)),
        ("3eff20", Target::Memory),
        ("2e2e2e2ee8 00010000", Target::Relative(0x100)),
        ("ff28", Target::Memory),
        ("ff18", Target::Memory),
        ("f30f01ec", Target::Stack),
        ("0f01d7", Target::None),
        ("2e2e2e2e2e2e2e2ec3", Target::Stack),
        ("c7f8 10000000", Target::Relative(16)),
        ("c6f810", Target::None),
        ("0f01d5", Target::None),
    ];
    for (text, target) in table {
        assert_eq!(insn(text).target(), target, "{text}");
    }
    for (text, target) in [("ea 785634f2 2300", 0xf234_5678), ("66ea 34f2 2300", 0xf234)] {
        let far = decode_padded(text, Mode::INTEL_32).unwrap();
        assert_eq!((far.target(), far.immediate2().unwrap().value), (Target::Absolute(target), 0x23), "{text}");
    }
}
