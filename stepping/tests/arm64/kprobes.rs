//! What kprobes do with instructions and addresses, by class. A kernel is asked in the room `tests`.
#![allow(clippy::single_range_in_vec_init, reason = "tables of one range")]

use stepping::Kprobe::{Emulated, Refused, Stepped, Wrong};
use stepping::KprobeKernel;
use stepping::arm64::KprobeDeviation::*;
use stepping::arm64::KprobeRefusal::*;
use stepping::arm64::UprobeRefusal::{self, *};
use stepping::arm64::{kprobe, kprobe_at};

use super::insn;

const START: u64 = 0xffff_8000_8001_0000;
const NOP: u32 = 0xd503_201f;

#[test]
fn each_class_of_instruction_is_told_apart() {
    let refused = |reason: UprobeRefusal| Refused(Instruction(reason));
    let rows = [
        ("add x0, x0, #1", 0x9100_0400, Stepped),
        ("paciasp", 0xd503_233f, Stepped),
        ("nop", NOP, Emulated),
        ("adrp x0, #0", 0x9000_0000, Emulated),
        ("b #4", 0x1400_0001, Emulated),
        ("ret", 0xd65f_03c0, Emulated),
        ("ldr x0, #8", 0x5800_0040, Emulated),
        ("ldrsw x0, #8", 0x9800_0040, Emulated),
        ("prfm pldl1keep, #8", 0xd800_0040, refused(Literal)),
        ("svc #0", 0xd400_0001, refused(Exception)),
        ("eret", 0xd69f_03e0, refused(AuthenticatedBranch)),
        ("yield", 0xd503_203f, refused(Hint)),
        ("ldxr w0, [x1]", 0x885f_7c20, refused(Exclusive)),
        ("ldr d0, #8", 0x5c00_0040, Wrong(UsesCopyAddress)),
        ("cbgt x0, x1, #4", 0xf401_0020, Wrong(BranchesFromCopy)),
    ];
    for (name, word, expected) in rows {
        assert_eq!(kprobe(&insn(word)), expected, "{name}");
    }
}

#[test]
fn an_address_is_refused_by_its_place_and_by_the_kernels_tables() {
    let code = [NOP; 8];
    let kernel = KprobeKernel {
        blacklist: &[START..START + 4],
        patched: &[START + 4..START + 8],
        ftrace: &[START + 8],
        bugs: &[START + 12],
        fixups: &[START + 16],
        ..KprobeKernel::default()
    };
    let at = |offset: u64| kprobe_at(&code, START, START + offset, &kernel);
    let refusals = [(0, Blacklisted), (4, Patched), (8, Traced), (12, Bug), (16, Fixup), (22, NotAnInstruction)];
    for (offset, reason) in refusals {
        assert_eq!(at(offset), Refused(reason), "{offset}");
    }
    assert_eq!((at(20), at(32)), (Emulated, Refused(NotAnInstruction)));
    assert_eq!(kprobe_at(&[!0], START, START, &KprobeKernel::default()), Wrong(Undecodable));
}

#[test]
fn behind_a_load_exclusive_no_kprobe_is_set_until_a_store_exclusive_or_32_words() {
    const LOAD: u32 = 0x885f_7c20;
    const STORE: u32 = 0x8802_7c20;
    let ask = |code: &[u32], index: u64| kprobe_at(code, START, START + 4 * index, &KprobeKernel::default());
    let mut code = vec![NOP; 64];
    code[2] = LOAD;
    for (index, expected) in [
        (1, Emulated),
        (3, Refused(ExclusiveRegion(START + 8))),
        (34, Refused(ExclusiveRegion(START + 8))),
        (35, Emulated),
    ] {
        assert_eq!(ask(&code, index), expected, "{index}");
    }
    code[4] = STORE;
    assert_eq!(ask(&code, 4), Refused(Instruction(Exclusive)));
    assert_eq!(ask(&code, 5), Emulated);
}
