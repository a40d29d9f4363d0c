use insn::Flow;
use insn::x86::{Bits, Encoding, Insn, Reg, decode};
use stepping::x86::{Code, Exit, Plan, Progress, Refusal, SLOT_SIZE, plan};

use super::generate;
use crate::generate::{self, Addresses};

/// One instruction at its site, and a slot for it.
pub(super) struct Case {
    pub(super) insn: Insn,
    pub(super) site: u64,
    pub(super) slot: u64,
    /// Whether the plan is to emulate it, so that the slot is only for faults.
    pub(super) emulated: bool,
    pub(super) code: Code,
}

impl Case {
    /// What the bytes stand for, where that is an instruction with a slot.
    pub(super) fn of(data: &[u8]) -> Option<Case> {
        let (code, addresses): (generate::Code, Addresses) = generate(data)?;
        let insn = decode(&code.encoding.0, code.mode).ok()?;
        let (site, slot) = addresses.of(code.mode.bits);
        let (emulated, plan) = match plan(&insn, site) {
            Plan::Slot(slot) => (false, slot),
            Plan::Emulate(emulate) => (true, emulate.slot()),
            _ => return None,
        };
        match plan.assemble(slot) {
            Ok(code) => Some(Case { insn, site, slot, emulated, code }),
            Err(reason) => {
                assert_eq!(reason, Refusal::NoScratchRegister, "{:02x?}", insn.bytes());
                let operand = insn.rip_relative_address(site).expect("only rip-relative operands need a register");
                assert!(operand.wrapping_sub(slot) as i64 as i32 as i64 != operand.wrapping_sub(slot) as i64);
                None
            }
        }
    }

    pub(super) fn context(&self) -> String {
        let Case { insn, site, slot, code, .. } = self;
        let code = &code.bytes[..usize::from(code.len)];
        format!("{:02x?} at {site:#x} as {code:02x?} at {slot:#x} in {:?}", insn.bytes(), insn.mode())
    }

    /// An address in the width of the mode.
    pub(super) fn wrap(&self, address: u64) -> u64 {
        if self.insn.mode().bits == Bits::B64 { address } else { address & 0xffff_ffff }
    }

    /// Behind the original.
    pub(super) fn next(&self) -> u64 {
        self.wrap(self.site.wrapping_add(self.insn.len() as u64))
    }

    /// What stands at an offset in the slot.
    pub(super) fn decode(&self, offset: usize) -> Insn {
        let rest = self.code.bytes.get(offset..).unwrap_or_default();
        decode(rest, self.insn.mode()).unwrap_or_else(|error| panic!("{}: {error} at {offset}", self.context()))
    }

    /// The eight bytes that the indirect branch at `offset` reads, which must lie aligned in the slot.
    fn operand(&self, offset: usize, branch: &Insn) -> u64 {
        let at = self.slot.wrapping_add(offset as u64);
        let address = branch.rip_relative_address(at).unwrap_or_else(|| panic!("{}", self.context()));
        assert_eq!(address & 7, 0, "{}", self.context());
        let inside = address.wrapping_sub(self.slot) as usize;
        let bytes = self.code.bytes.get(inside..).and_then(|rest| rest.first_chunk::<8>());
        assert!(inside + 8 <= usize::from(self.code.len), "{}", self.context());
        u64::from_le_bytes(*bytes.unwrap_or_else(|| panic!("{}", self.context())))
    }
}

/// The bytes of a slot, decoded, are the same operation on the same operands and lead on to where the original leads.
pub fn slots(data: &[u8]) {
    let Some(case) = Case::of(data) else { return };
    let length = usize::from(case.code.len);
    assert!(length < SLOT_SIZE, "{}", case.context());
    assert!(case.code.bytes[length..].iter().all(|byte| *byte == 0xcc), "{}", case.context());
    let copy = case.decode(0);
    if case.emulated && is_indirect_in_place_of_direct(&case, &copy) {
        return;
    }
    same_operation(&case, &copy);
    same_operand(&case, &copy);
    match case.code.exit {
        Exit::Jump if length > copy.len() => way_back(&case, copy.len()),
        Exit::Jump => {}
        Exit::Trap(offset) => {
            assert_eq!(case.code.bytes[usize::from(offset)], 0xcc, "{}", case.context());
            let place = case.code.original(offset).unwrap_or_else(|| panic!("{}", case.context()));
            assert_eq!((place.pc, place.progress), (case.next(), Progress::After), "{}", case.context());
        }
        _ => assert_eq!(length, copy.len(), "{}", case.context()),
    }
}

/// A direct branch faults on its target; a branch through memory to the same target faults alike from anywhere.
fn is_indirect_in_place_of_direct(case: &Case, copy: &Insn) -> bool {
    let Some(target) = case.insn.target_address(case.site).filter(|_| case.insn.mode().bits == Bits::B64) else {
        return false;
    };
    if !copy.is_rip_relative() || case.insn.is_rip_relative() {
        return false;
    }
    let wanted = if case.insn.flow() == Flow::Call { Flow::Call } else { Flow::Jump };
    assert_eq!(copy.flow(), wanted, "{}", case.context());
    assert_eq!(case.operand(0, copy), target, "{}", case.context());
    true
}

fn same_operation(case: &Case, copy: &Insn) {
    let original = &case.insn;
    let form = |insn: &Insn| {
        let opcode = (insn.encoding(), insn.map(), insn.opcode(), insn.w(), insn.vvvv(), insn.prefixes());
        (insn.len(), opcode, insn.flow(), insn.operand_size(), insn.address_size(), insn.reg(), insn.immediate2())
    };
    assert_eq!(form(copy), form(original), "{}", case.context());
    if original.flow() != Flow::Transaction {
        assert_eq!(copy.immediate(), original.immediate(), "{}", case.context());
    } else if let Some(handler) = original.target_address(case.site) {
        // Either there, or into an `int3` of the slot that means it.
        let target = case.wrap(copy.target_address(case.slot).unwrap_or_else(|| panic!("{}", case.context())));
        let inside = case.wrap(target.wrapping_sub(case.slot));
        if target != case.wrap(handler) {
            let place = u8::try_from(inside).ok().and_then(|offset| case.code.original(offset));
            let place = place.unwrap_or_else(|| panic!("{}: abort to {target:#x}", case.context()));
            assert_eq!(place.pc, case.wrap(handler), "{}", case.context());
            assert_eq!(case.code.bytes[inside as usize], 0xcc, "{}", case.context());
        }
    }
    let scratch = case.code.scratch.map(|scratch| scratch.register);
    let own = |set: insn::x86::RegSet| scratch.map_or(set, |scratch| set.without(scratch)).without(Reg::RIP);
    assert_eq!(own(copy.reads()), original.reads().without(Reg::RIP), "{}", case.context());
    assert_eq!(own(copy.writes()), original.writes().without(Reg::RIP), "{}", case.context());
    let flags = |insn: &Insn| (insn.flags_read(), insn.flags_written(), insn.implicit_memory());
    assert_eq!(flags(copy), flags(original), "{}", case.context());
}

fn same_operand(case: &Case, copy: &Insn) {
    let original = &case.insn;
    let Some(address) = original.rip_relative_address(case.site) else {
        assert_eq!(case.code.scratch, None, "{}", case.context());
        assert_eq!(copy.memory(), original.memory(), "{}", case.context());
        return;
    };
    let (Some(from), Some(to)) = (original.memory(), copy.memory()) else {
        panic!("{}: an operand got lost", case.context())
    };
    assert_eq!(
        (from.size, from.access, from.address_size),
        (to.size, to.access, to.address_size),
        "{}",
        case.context()
    );
    let Some(scratch) = case.code.scratch else {
        assert_eq!(copy.rip_relative_address(case.slot), Some(address), "{}", case.context());
        return;
    };
    assert_eq!(scratch.value, address, "{}", case.context());
    assert_eq!((to.base, to.index, to.displacement), (Some(scratch.register), None, 0), "{}", case.context());
    assert!(!original.reads().union(original.writes()).contains(scratch.register), "{}", case.context());
    // rbp makes the stack segment apply, flat as the data segment.
    assert!(to.segment == from.segment || scratch.register == Reg::RBP, "{}", case.context());
}

/// What stands behind the copy leads to the instruction behind the original, and corrects what `syscall` leaves in rcx.
fn way_back(case: &Case, mut offset: usize) {
    let mut jump = case.decode(offset);
    if jump.bytes() == [0x90] {
        // It takes the trap that the copy held off.
        offset += 1;
        jump = case.decode(offset);
    }
    if case.insn.flow() == Flow::Syscall && case.insn.mode().bits == Bits::B64 && jump.opcode() == 0xb9 {
        assert_eq!(jump.immediate().map(|field| field.value as u64), Some(case.next()), "{}", case.context());
        assert_eq!((jump.opcode(), jump.len()), (0xb9, 10), "{}", case.context());
        offset += jump.len();
        jump = case.decode(offset);
        if jump.flow() == Flow::Jump && jump.bytes() == [0xff, 0xe1] {
            return;
        }
    }
    if jump.bytes() == [0xcc] {
        // A transaction whose jump has no room.
        assert_eq!(case.insn.flow(), Flow::Transaction, "{}", case.context());
        return;
    }
    assert_eq!((jump.flow(), jump.encoding()), (Flow::Jump, Encoding::Legacy), "{}", case.context());
    let at = case.slot.wrapping_add(offset as u64);
    let target = jump.target_address(at).map_or_else(|| case.operand(offset, &jump), |target| case.wrap(target));
    assert_eq!(target, case.next(), "{}", case.context());
}
