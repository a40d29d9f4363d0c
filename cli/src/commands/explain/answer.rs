//! Everything that `explain` prints about an x86 instruction.

use insn::x86::{Encoding, Error, Flags, Insn, Memory, Mode, RegSet};
use insn::{Access, Flow};
use serde::Serialize;
use stepping::x86::{Exit, Plan, plan};
use survey::slot_address;
use ubp::{Address, JumpSurvey};

use super::fields::{Part, parts};
use crate::disassembly::Disassembler;
use crate::hex;

/// The explanation of one instruction. The field names are the keys of the JSON form.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Answer {
    pub(crate) hex: String,
    pub(crate) valid: bool,
    pub(crate) error: Option<String>,
    pub(crate) length: Option<usize>,
    pub(crate) text: Option<String>,
    pub(crate) flow: Option<&'static str>,
    pub(crate) target: Option<String>,
    pub(crate) encoding: Option<&'static str>,
    pub(crate) fields: Option<Vec<Part>>,
    pub(crate) operand_size: Option<u8>,
    pub(crate) address_size: Option<u8>,
    pub(crate) memory: Option<MemoryAnswer>,
    pub(crate) implicit_memory: Option<Vec<MemoryAnswer>>,
    pub(crate) reads: Option<Vec<String>>,
    pub(crate) writes: Option<Vec<String>>,
    pub(crate) flags_read: Option<Vec<&'static str>>,
    pub(crate) flags_written: Option<Vec<&'static str>>,
    pub(crate) plan: Option<&'static str>,
    pub(crate) boosted: Option<bool>,
    pub(crate) exit: Option<&'static str>,
    pub(crate) scratch: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) slot: Option<String>,
    pub(crate) slot_address: Option<String>,
    pub(crate) slot_text: Option<Vec<String>>,
    pub(crate) jump: Option<String>,
    pub(crate) no_jump: Option<String>,
    pub(crate) jump_text: Option<Vec<String>>,
    /// The instruction's bytes, for the text form.
    #[serde(skip)]
    pub(crate) bytes: Vec<u8>,
    /// The instruction's address, for the text form.
    #[serde(skip)]
    pub(crate) at: u64,
}

/// A memory operand.
#[derive(Debug, Serialize)]
pub(crate) struct MemoryAnswer {
    pub(crate) segment: String,
    pub(crate) base: Option<String>,
    pub(crate) index: Option<String>,
    pub(crate) scale: u8,
    pub(crate) displacement: i64,
    pub(crate) size: u16,
    pub(crate) access: &'static str,
    /// The address of a rip-relative operand.
    pub(crate) address: Option<String>,
}

impl Answer {
    /// Returns the answer for a text that contains no instruction.
    pub(crate) fn invalid(hex: String, error: String) -> Answer {
        Answer { hex, error: Some(error), ..Answer::default() }
    }

    /// Returns the answer for bytes that the decoder refuses.
    pub(crate) fn undecodable(bytes: &[u8], at: u64, error: Error) -> Answer {
        Answer { bytes: bytes.to_vec(), at, ..Answer::invalid(hex::plain(bytes), error.to_string()) }
    }

    /// Returns the answer for `insn` at the address `at`, which begins `code`. `hex` are the user's digits.
    pub(crate) fn of(insn: &Insn, code: &[u8], hex: String, at: u64, tools: &mut Tools) -> Answer {
        let disassembler = &mut tools.disassembler;
        let mut answer = Answer {
            hex,
            valid: true,
            length: Some(insn.len()),
            text: disassembler.text(insn.bytes(), at, insn.mode()),
            flow: Some(flow_name(insn.flow())),
            target: insn.target_address(at).map(address),
            encoding: Some(encoding_name(insn.encoding())),
            fields: Some(parts(insn)),
            operand_size: Some(insn.operand_size()),
            address_size: Some(insn.address_size()),
            memory: insn.memory().map(|memory| MemoryAnswer::of(&memory, insn.rip_relative_address(at))),
            implicit_memory: Some(insn.implicit_memory().iter().flatten().map(|m| MemoryAnswer::of(m, None)).collect()),
            reads: Some(register_names(insn.reads())),
            writes: Some(register_names(insn.writes())),
            flags_read: Some(flag_names(insn.flags_read())),
            flags_written: Some(flag_names(insn.flags_written())),
            bytes: insn.bytes().to_vec(),
            at,
            ..Answer::default()
        };
        answer.plan(insn, at, disassembler);
        answer.jump(code, insn.mode(), at, tools);
        answer
    }

    fn jump(&mut self, code: &[u8], mode: Mode, at: u64, tools: &mut Tools) {
        match tools.jumps.code(Address(at), code, mode) {
            Ok(jump) => {
                let parts =
                    [(at, &jump.jump[..]), (jump.mirror.0, &jump.mirror_jump[..]), (jump.trampoline.0, &jump.code[..])];
                let text = parts.into_iter().flat_map(|(at, part)| sweep_text(part, at, mode, &mut tools.disassembler));
                (self.jump, self.jump_text) = (Some(hex::plain(&jump.jump)), Some(text.collect()));
            }
            Err(reason) => self.no_jump = Some(reason.to_string()),
        }
    }

    fn plan(&mut self, insn: &Insn, at: u64, disassembler: &mut Disassembler) {
        let slot = match plan(insn, at) {
            Plan::Emulate(_) => {
                self.plan = Some("emulate");
                return;
            }
            Plan::Slot(slot) => slot,
            Plan::Refuse(reason) => return self.refuse(reason.to_string()),
        };
        let slot_at = slot_address(at);
        let code = match slot.assemble(slot_at) {
            Ok(code) => code,
            Err(reason) => return self.refuse(reason.to_string()),
        };
        let bytes = code.bytes.get(..usize::from(code.len)).unwrap_or(&code.bytes);
        self.plan = Some("slot");
        self.boosted = Some(code.boosted());
        self.exit = Some(exit_name(code.exit));
        self.scratch = code.scratch.map(|scratch| format!("{} = {:#x}", scratch.register, scratch.value));
        self.slot = Some(hex::plain(bytes));
        self.slot_address = Some(address(slot_at));
        self.slot_text = Some(sweep_text(bytes, slot_at, insn.mode(), disassembler));
    }

    fn refuse(&mut self, reason: String) {
        self.plan = Some("refuse");
        self.reason = Some(reason);
    }
}

impl MemoryAnswer {
    fn of(memory: &Memory, at: Option<u64>) -> MemoryAnswer {
        MemoryAnswer {
            segment: memory.segment.to_string(),
            base: memory.base.map(|reg| reg.to_string()),
            index: memory.index.map(|reg| reg.to_string()),
            scale: memory.scale,
            displacement: memory.displacement,
            size: memory.size,
            access: access_name(memory.access),
            address: at.map(address),
        }
    }
}

/// What explains x86 instructions.
pub(crate) struct Tools {
    pub(crate) disassembler: Disassembler,
    jumps: JumpSurvey,
}

impl Tools {
    pub(crate) fn new() -> Tools {
        Tools { disassembler: Disassembler::new(), jumps: JumpSurvey::new() }
    }
}

/// Returns a line `address: bytes  text` for each instruction in `bytes`.
fn sweep_text(bytes: &[u8], at: u64, mode: Mode, disassembler: &mut Disassembler) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = bytes;
    let mut pc = at;
    while !rest.is_empty() {
        // Bytes that are no instruction, such as the address of an absolute jump, are shown as data.
        let (text, len) = match insn::x86::decode(rest, mode) {
            Ok(insn) => (disassembler.text(insn.bytes(), pc, mode), insn.len()),
            Err(_) => (None, rest.len()),
        };
        let (bytes, tail) = rest.split_at(len.min(rest.len()));
        let text = text.unwrap_or_else(|| data(bytes));
        lines.push(format!("{pc:#x}: {:<30} {text}", hex::spaced(bytes)));
        pc = pc.wrapping_add(bytes.len() as u64);
        rest = tail;
    }
    lines
}

/// Returns bytes as an assembler's data directive.
pub(crate) fn data(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:#04x}")).collect();
    format!("db {}", bytes.join(", "))
}

/// Returns an address in the form that JSON has.
pub(crate) fn address(value: u64) -> String {
    format!("{value:#x}")
}

fn register_names(set: RegSet) -> Vec<String> {
    set.iter().map(|reg| reg.to_string()).collect()
}

fn flag_names(flags: Flags) -> Vec<&'static str> {
    const NAMES: [(Flags, &str); 17] = [
        (Flags::CF, "cf"),
        (Flags::PF, "pf"),
        (Flags::AF, "af"),
        (Flags::ZF, "zf"),
        (Flags::SF, "sf"),
        (Flags::TF, "tf"),
        (Flags::IF, "if"),
        (Flags::DF, "df"),
        (Flags::OF, "of"),
        (Flags::IOPL, "iopl"),
        (Flags::NT, "nt"),
        (Flags::RF, "rf"),
        (Flags::VM, "vm"),
        (Flags::AC, "ac"),
        (Flags::VIF, "vif"),
        (Flags::VIP, "vip"),
        (Flags::ID, "id"),
    ];
    NAMES.iter().filter(|(flag, _)| flags.bits() & flag.bits() != 0).map(|(_, name)| *name).collect()
}

fn flow_name(flow: Flow) -> &'static str {
    match flow {
        Flow::Next => "next",
        Flow::Jump => "jump",
        Flow::ConditionalJump => "conditional_jump",
        Flow::Call => "call",
        Flow::Return => "return",
        Flow::Syscall => "syscall",
        Flow::Interrupt => "interrupt",
        Flow::Trap => "trap",
        Flow::Far => "far",
        Flow::Transaction => "transaction",
        Flow::Privileged => "privileged",
        Flow::Faulting => "faulting",
        _ => "other",
    }
}

fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Legacy => "legacy",
        Encoding::Rex2 => "rex2",
        Encoding::Vex => "vex",
        Encoding::Xop => "xop",
        Encoding::Evex => "evex",
        _ => "other",
    }
}

fn access_name(access: Access) -> &'static str {
    match access {
        Access::None => "none",
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadWrite => "read_write",
        _ => "other",
    }
}

pub(super) fn exit_name(exit: Exit) -> &'static str {
    match exit {
        Exit::Jump => "jump",
        Exit::Trap(_) => "trap",
        Exit::Step => "step",
        Exit::StepThenReturnAddress(_) => "step_then_return_address",
        _ => "other",
    }
}
