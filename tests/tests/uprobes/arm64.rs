//! Instructions of A64.

use crossing::Random;
use stepping::Uprobe;
pub(crate) use stepping::arm64::{UprobeDeviation as Deviation, UprobeRefusal as Refusal};

/// The answer of `stepping` for the bytes of one instruction.
pub(crate) fn classify(bytes: &[u8], _: bool) -> Uprobe<Refusal, Deviation> {
    decode(bytes)
}

/// The answer of `stepping` for the first instruction of code.
pub(crate) fn decode(code: &[u8]) -> Uprobe<Refusal, Deviation> {
    let word = u32::from_le_bytes(code[..4].try_into().expect("four bytes"));
    stepping::arm64::uprobe(&insn::arm64::decode(word).expect("an instruction"))
}

/// Whether the deviation is mended in kernels such as this one.
pub(crate) fn is_mended(_: Deviation) -> bool {
    false
}

/// `brk`: the kernel takes one of them for its own breakpoint.
const BREAKPOINTS: u32 = 0xd420_0000;

/// Random instructions, half of them among branches and system instructions.
pub(crate) fn instructions(_: bool) -> Vec<Vec<u8>> {
    let mut rng = Random::new(1);
    let mut found = Vec::new();
    while found.len() < 1500 {
        let word = match rng.below(4) {
            0 => 0xd500_0000 | rng.next() as u32 & 0x003f_ffff,
            1 => 0x1400_0000 | rng.next() as u32 & 0xe3ff_ffff,
            2 => 0xd503_201f | rng.next() as u32 & 0xfe0,
            _ => rng.next() as u32,
        };
        if word & 0xffe0_001f != BREAKPOINTS && insn::arm64::decode(word).is_ok() {
            found.push(word.to_le_bytes().to_vec());
        }
    }
    found
}

fn always() -> bool {
    true
}

cases! {
    addition: "mov x0, #5", "add x0, x0, #1", "" => Uprobe::Passed, always;
    own_address: "", "adr x0, .", "adr x1, own_address_site\n sub x0, x0, x1" => Uprobe::Passed, always;
    branch: "mov x0, #5", "b 2f", "mov x0, #6\n2:" => Uprobe::Passed, always;
    signs: "", "paciaz", "xpaclri\n mov x0, #1" => Uprobe::Passed, always;

    system_call: "mov x8, #172", "svc #0", "mov x0, #1" => Uprobe::Refused(Refusal::Exception), always;
    literal: "", "ldr x0, 2f", "ret\n2: .quad 77" => Uprobe::Refused(Refusal::Literal), always;
    yields: "mov x0, #5", "yield", "" => Uprobe::Refused(Refusal::Hint), always;
    loads_exclusive: "mov x1, sp", "ldxr w0, [x1]", "mov x0, #1" => Uprobe::Refused(Refusal::Exclusive), always;
    writes_a_register: "mrs x0, nzcv", "msr nzcv, x0", "" => Uprobe::Refused(Refusal::SystemRegister), always;

    vector_literal: "", "ldr d0, 2f", "fmov x0, d0\n ret\n.balign 8\n2: .quad 77"
        => Uprobe::Wrong(Deviation::UsesCopyAddress), always;
}
