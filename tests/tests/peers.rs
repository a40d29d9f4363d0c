//! The decoder beside iced-x86, over the code of programs found here. Where both differ, hardware or the manual decides, and
//! tests/deviations.txt says how.
#![cfg(target_arch = "x86_64")]

use std::collections::BTreeMap;
use std::path::Path;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction};
use insn::x86::{Mode, decode};
use insn::{Flow, Target};
use object::{Object, ObjectSection};

/// Found on any Debian, or not: each alone is enough.
const PROGRAMS: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/bin/bash",
    "/usr/bin/gdb",
    "/usr/bin/git",
    "/usr/bin/perf",
    "/usr/bin/python3.11",
];

/// `BYTES… # why`, in hexadecimal: encodings that begin so are known to differ.
fn deviations() -> Vec<Vec<u8>> {
    let lines = include_str!("../deviations.txt").lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal");
    lines.filter(|line| !line.is_empty()).map(|line| line.as_bytes().chunks(2).map(byte).collect()).collect()
}

fn code(path: &str) -> Option<Vec<u8>> {
    let file = std::fs::read(Path::new(path)).ok()?;
    let object = object::File::parse(&*file).ok()?;
    Some(object.section_by_name(".text")?.data().ok()?.to_vec())
}

/// Our words for what iced-x86 calls a flow; none where its words are too coarse to tell.
fn flow(instruction: &Instruction) -> Option<Flow> {
    Some(match instruction.flow_control() {
        FlowControl::UnconditionalBranch if instruction.is_jmp_short_or_near() => Flow::Jump,
        FlowControl::IndirectBranch if !instruction.is_jmp_far_indirect() => Flow::Jump,
        FlowControl::ConditionalBranch => Flow::ConditionalJump,
        FlowControl::Call if instruction.code() != Code::Syscall && instruction.is_call_near() => Flow::Call,
        FlowControl::IndirectCall if instruction.is_call_near_indirect() => Flow::Call,
        FlowControl::Return if !instruction.mnemonic_is_far() => Flow::Return,
        FlowControl::Exception => Flow::Faulting,
        FlowControl::Next if !instruction.is_privileged() => Flow::Next,
        _ => return None,
    })
}

/// Whether a return leaves the code segment.
trait MnemonicIsFar {
    fn mnemonic_is_far(&self) -> bool;
}

impl MnemonicIsFar for Instruction {
    fn mnemonic_is_far(&self) -> bool {
        use iced_x86::Mnemonic::{Iret, Iretd, Iretq, Retf, Sysexit, Sysexitq, Sysret, Sysretq, Uiret};
        matches!(self.mnemonic(), Iret | Iretd | Iretq | Retf | Sysexit | Sysexitq | Sysret | Sysretq | Uiret)
    }
}

/// What differs at one instruction that iced-x86 accepts.
fn difference(rest: &[u8], theirs: &Instruction) -> Option<String> {
    let ours = match decode(rest, Mode::INTEL_64) {
        Ok(insn) => insn,
        Err(error) => return Some(format!("refused: {error}")),
    };
    if ours.len() != theirs.len() {
        return Some(format!("length {} and {}", ours.len(), theirs.len()));
    }
    match flow(theirs) {
        Some(flow) if flow != ours.flow() => return Some(format!("flow {:?} and {flow:?}", ours.flow())),
        _ => {}
    }
    let near = matches!(ours.target(), Target::Relative(_)) && theirs.near_branch_target() != 0;
    if near && ours.target_address(theirs.ip()) != Some(theirs.near_branch_target()) {
        return Some(format!("target {:x?} and {:x}", ours.target_address(theirs.ip()), theirs.near_branch_target()));
    }
    None
}

#[test]
fn lengths_flows_and_targets_of_real_code_are_those_of_iced_x86() {
    let known = deviations();
    let mut differences: BTreeMap<String, String> = BTreeMap::new();
    let mut instructions = 0u64;
    for code in PROGRAMS.iter().filter_map(|path| code(path)) {
        let mut decoder = Decoder::with_ip(64, &code, 0x40_0000, DecoderOptions::NONE);
        let mut theirs = Instruction::default();
        while decoder.can_decode() {
            let at = decoder.position();
            decoder.decode_out(&mut theirs);
            if theirs.is_invalid() {
                continue;
            }
            instructions += 1;
            let rest = &code[at..];
            if known.iter().any(|bytes| rest.starts_with(bytes)) {
                continue;
            }
            if let Some(difference) = difference(rest, &theirs) {
                let bytes: String = rest.iter().take(theirs.len()).map(|byte| format!("{byte:02x}")).collect();
                differences.entry(format!("{:?}: {difference}", theirs.code())).or_insert(bytes);
            }
        }
    }
    if instructions == 0 {
        crossing::skip(
            "lengths_flows_and_targets_of_real_code_are_those_of_iced_x86",
            "none of the programs is installed",
        );
        return;
    }
    println!("{instructions} instructions compared");
    assert!(differences.is_empty(), "{differences:#?}");
}
