//! Slots as another decoder reads them: the same operation on the same operands, and the way back.

use iced_x86::{Code as Iced, Decoder, DecoderOptions, InstructionInfoFactory, OpKind, Register};
use insn::x86::{Bits, Mode, Vendor};
use stepping::x86::{Exit, Plan, plan};

use crate::random::{MODES, Random};

fn decode(bytes: &[u8], mode: Mode, address: u64) -> iced_x86::Instruction {
    let options = if mode.vendor == Vendor::Amd { DecoderOptions::AMD } else { DecoderOptions::NONE };
    Decoder::with_ip(if mode.bits == Bits::B64 { 64 } else { 32 }, bytes, address, options).decode()
}

#[test]
fn copies_are_the_same_operation_on_the_same_operands() {
    let (mut compared, mut scratched, mut relative) = (0, 0, 0);
    let mut random = Random(4);
    let mut factory = InstructionInfoFactory::new();
    for mode in MODES {
        for _ in 0..30_000 {
            let insn = random.insn(mode);
            let (pc, at) = (random.address(mode), random.address(mode) & !31);
            let Plan::Slot(slot) = plan(&insn, pc) else { continue };
            let original = decode(insn.bytes(), mode, pc);
            // What only one of the decoders knows cannot be compared.
            if original.code() == Iced::INVALID || original.len() != insn.len() {
                continue;
            }
            let code = slot.assemble(at).unwrap();
            let copy = decode(&code.bytes, mode, at);
            let context = format!(
                "{:02x?} -> {:02x?} at {at:#x}, from {pc:#x}",
                insn.bytes(),
                &code.bytes[..usize::from(code.len)]
            );
            assert_eq!(copy.code(), original.code(), "{context}");
            assert_eq!(copy.len(), original.len(), "{context}");
            compared += 1;
            for operand in 0..original.op_count() {
                match original.op_kind(operand) {
                    OpKind::Register => {
                        assert_eq!(copy.op_register(operand), original.op_register(operand), "{context}")
                    }
                    OpKind::Memory => assert_eq!(copy.memory_index(), original.memory_index(), "{context}"),
                    OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => (),
                    _ => assert_eq!(copy.op_kind(operand), original.op_kind(operand), "{context}"),
                }
            }
            if original.is_ip_rel_memory_operand() {
                relative += 1;
                if let Some(scratch) = code.scratch {
                    scratched += 1;
                    assert_eq!(scratch.value, original.ip_rel_memory_address(), "{context}");
                    assert_eq!(copy.memory_displacement64(), 0, "{context}");
                    let number = copy.memory_base().full_register().number();
                    assert_eq!(Some(number as u8), scratch.register.as_gpr(), "{context}");
                    let used = factory.info(&original).used_registers().iter();
                    for register in used.map(|used| used.register().full_register()).filter(|r| r.is_gpr()) {
                        assert_ne!(register.number(), number, "{context}: {register:?} is in use");
                    }
                } else {
                    assert_eq!(copy.ip_rel_memory_address(), original.ip_rel_memory_address(), "{context}");
                }
            } else {
                assert_eq!(code.scratch, None, "{context}");
                if original.memory_base() != Register::None {
                    assert_eq!(copy.memory_base(), original.memory_base(), "{context}");
                }
                let memory = (0..original.op_count()).any(|operand| original.op_kind(operand) == OpKind::Memory);
                if memory {
                    assert_eq!(copy.memory_displacement64(), original.memory_displacement64(), "{context}");
                }
            }
            way_back(&code, &original, mode, at, &context);
        }
    }
    println!("{compared} compared, {relative} rip-relative, {scratched} with a scratch register");
    assert!(compared > 50_000 && relative > 1000 && scratched > 300);
}

/// What follows the copy leads to the instruction after the original.
fn way_back(code: &stepping::x86::Code, original: &iced_x86::Instruction, mode: Mode, at: u64, context: &str) {
    let mut end = original.len();
    if code.exit != Exit::Jump || usize::from(code.len) == end {
        return;
    }
    if code.bytes[end] == 0x90 {
        // It stands for the next instruction, after which the trap comes that this one held off.
        end += 1;
        assert!(code.holds_off_trap(end as u8), "{context}");
    }
    let wrap = if mode.bits == Bits::B64 { u64::MAX } else { 0xffff_ffff };
    let next = original.next_ip() & wrap;
    let rest = &code.bytes[end..];
    let jump = decode(rest, mode, at + end as u64);
    match jump.code() {
        Iced::Jmp_rel32_64 | Iced::Jmp_rel32_32 => assert_eq!(jump.near_branch_target() & wrap, next, "{context}"),
        Iced::Jmp_rm64 => {
            let address = jump.ip_rel_memory_address();
            assert_eq!(address & 7, 0, "{context}");
            let offset = (address - at) as usize;
            assert_eq!(code.bytes[offset..offset + 8], next.to_le_bytes(), "{context}");
        }
        // syscall's correction.
        Iced::Mov_r64_imm64 => {
            assert_eq!((jump.op0_register(), jump.immediate64()), (Register::RCX, next), "{context}")
        }
        other => panic!("{context}: {other:?}"),
    }
}
