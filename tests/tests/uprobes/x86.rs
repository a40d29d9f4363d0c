//! Instructions of x86.

use crossing::Random;
use insn::x86::{Bits, Mode, Vendor};
use stepping::Uprobe;
pub(crate) use stepping::x86::{UprobeDeviation as Deviation, UprobeRefusal as Refusal};

fn mode(is_narrow: bool) -> Mode {
    Mode::new(if is_narrow { Bits::B32 } else { Bits::B64 }, Vendor::Intel).lenient()
}

/// The answer of `stepping` for the bytes of one instruction.
pub(crate) fn classify(bytes: &[u8], is_narrow: bool) -> Uprobe<Refusal, Deviation> {
    stepping::x86::uprobe(&insn::x86::decode(bytes, mode(is_narrow)).expect("it was decoded before"))
}

/// The answer of `stepping` for the first instruction of 64-bit code.
pub(crate) fn decode(code: &[u8]) -> Uprobe<Refusal, Deviation> {
    classify(code, false)
}

/// Whether the deviation is mended in kernels such as this one.
pub(crate) fn is_mended(deviation: Deviation) -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let is_old = release.starts_with("6.");
    deviation == Deviation::Skipped && !is_old
}

/// The bytes before an opcode: escapes, and VEX and EVEX prefixes.
const LEADS: [&[u8]; 12] = [
    &[],
    &[0x0f],
    &[0x0f, 0x38],
    &[0x0f, 0x3a],
    &[0xc5, 0xf8],
    &[0xc5, 0xf9],
    &[0xc4, 0xe1, 0x79],
    &[0xc4, 0xe2, 0x79],
    &[0xc4, 0xe3, 0x79],
    &[0x62, 0xf1, 0x7c, 0x48],
    &[0x62, 0xf2, 0x7d, 0x48],
    &[0x62, 0xf3, 0x7d, 0x48],
];
/// Legacy prefixes. With the empty entries most instructions have none.
const PREFIXES: [&[u8]; 14] = [
    &[],
    &[],
    &[],
    &[],
    &[0x66],
    &[0xf2],
    &[0xf3],
    &[0x67],
    &[0x64],
    &[0x2e],
    &[0x3e],
    &[0x36],
    &[0xf0],
    &[0x66, 0xf2],
];

/// Whether another prefix follows a REX prefix, which then has no effect: the kernel's decoder reads another instruction.
fn has_idle_rex(bytes: &[u8]) -> bool {
    let is_prefix = |byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
    let rest = bytes.iter().skip_while(|byte| is_prefix(byte));
    let mut rest = rest.skip_while(|byte| matches!(byte, 0x40..=0x4f)).peekable();
    rest.peek().is_some_and(|byte| is_prefix(byte))
}

/// Instructions of every opcode that decodes.
pub(crate) fn instructions(is_narrow: bool) -> Vec<Vec<u8>> {
    let mut rng = Random::new(1);
    let mut found = Vec::new();
    for lead in LEADS {
        for opcode in 0..=255 {
            let mut here = 0;
            for _ in 0..24 {
                let mut bytes = PREFIXES[rng.below(PREFIXES.len() as u64) as usize].to_vec();
                if lead.first().is_none_or(|byte| *byte == 0x0f) && !is_narrow && rng.below(3) == 0 {
                    bytes.push(0x40 | rng.below(16) as u8);
                }
                bytes.extend_from_slice(lead);
                bytes.push(opcode);
                bytes.extend((0..11).map(|_| rng.next() as u8));
                let Ok(insn) = insn::x86::decode(&bytes, mode(is_narrow)) else { continue };
                if !is_narrow && has_idle_rex(insn.bytes()) {
                    continue;
                }
                found.push(insn.bytes().to_vec());
                here += 1;
                if here == 2 {
                    break;
                }
            }
        }
    }
    found
}

fn always() -> bool {
    true
}

fn avx() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

cases! {
    push: "mov eax, 7", "push rax", "pop rax" => Uprobe::Passed, always;
    jump_of_memory: "mov eax, 1\n lea rdx, [rip + 2f]\n push rdx\n mov rdx, rsp", "jmp [rdx]", "2: pop rdx" => Uprobe::Passed, always;
    looped: "mov ecx, 2\n mov eax, 1", "loop 2f", "mov eax, 3\n2:" => Uprobe::Passed, always;
    loads_beside_itself: "", "mov rax, [rip + 2f]", "ret\n2: .quad 77" => Uprobe::Passed, always;
    vector_addition: "mov eax, 5", "vaddps xmm1, xmm1, xmm1", "inc eax" => Uprobe::Passed, avx;
    short_nop: "mov eax, 5", "nop", "inc eax" => Uprobe::Passed, always;
    restores_flags: "pushfq", "popfq", "mov eax, 1" => Uprobe::Passed, always;

    locked: "push 0\n mov rdx, rsp", "lock inc dword ptr [rdx]", "pop rax" => Uprobe::Refused(Refusal::Prefix), always;
    stack_segment: "mov eax, ss", "mov ss, eax", "mov eax, 1" => Uprobe::Refused(Refusal::StackSegment), always;
    vector_move: "mov eax, 5", "vmovdqa xmm1, xmm1", "inc eax" => Uprobe::Refused(Refusal::Opcode), avx;
    narrow_branch: "", ".byte 0x66, 0x74, 0", "mov eax, 1" => Uprobe::Refused(Refusal::Branch16), always;

    compares_bytes: "vpxor xmm0, xmm0, xmm0", "vpcmpeqb xmm0, xmm0, xmm0", "vmovd eax, xmm0"
        => Uprobe::Wrong(Deviation::Jumps), avx;
    subtracts: "mov eax, 5\n vmovd xmm0, eax\n push rsp", "vpsubsb xmm0, xmm0, xmm0", "pop rdx\n pop rax\n push rax\n vmovd eax, xmm0"
        => Uprobe::Wrong(Deviation::Calls), avx;
    compares_floats: "vpxor xmm0, xmm0, xmm0", "vcmpps xmm0, xmm0, xmm0, 0", "lea rax, [rip]\n lea rdx, [rip + compares_floats_site]\n sub rax, rdx"
        => Uprobe::Wrong(Deviation::StaysInCopy), avx;
    multiplies: "mov eax, 5", "vfnmadd132ss xmm0, xmm0, xmm0", "inc eax\n nop" => Uprobe::Wrong(Deviation::KeepsTrapFlag), avx;
    gathers: "vpcmpeqb xmm1, xmm1, xmm1\n vpxor xmm2, xmm2, xmm2\n mov rdx, rsp", "vpgatherdd xmm0, [rdx + xmm2], xmm1", "vmovd eax, xmm1"
        => Uprobe::Wrong(Deviation::Skipped), avx;
    exchanges: "mov eax, 1\n mov r8d, 2", "xchg r8, rax", "" => Uprobe::Wrong(Deviation::Skipped), always;
    stores_flags: "", "pushfq", "pop rax\n and eax, 0x100" => Uprobe::Wrong(Deviation::StoresTrapFlag), always;
    enters_the_kernel: "mov eax, 39", "syscall", "mov rax, rcx\n lea rdx, [rip + enters_the_kernel_site]\n sub rax, rdx"
        => Uprobe::Wrong(Deviation::StoresCopyAddress), always;
    repeats: "mov ecx, 8\n lea rsi, [rsp - 64]\n lea rdi, [rsp - 48]", "rep movsb", "mov eax, ecx"
        => Uprobe::Wrong(Deviation::CountsRepetitions), always;
}
