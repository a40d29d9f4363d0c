//! One model for each instruction, by its page (SDM vol. 2, APM vol. 3, and the specifications of extensions).

use insn::x86::{Encoding, Flags, Insn, Map, Prefixes, Reg};

use super::{Effects, Machine};

/// Encodings that have a model here, hexadecimal.
pub const ENCODINGS: &[&str] = &[
    // Shadow stacks.
    "f30f01ea",
    "f30f0128",
    "f30f016c4810",
    "f30faee9",
    "f3480faeed",
    "f30f1ec9",
    "f3480f1ecb",
    "0f38f608",
    "480f38f60c91",
    "660f38f508",
    "f30f01e8",
    "f30fae33",
    // Entries and exits.
    "0f34",
    "0f35",
    "480f35",
    "f30f01ec",
    "0faa",
    // Bounds.
    "f30f1ac1",
    "f20f1ac1",
    "f20f1b4810",
    "f30f1b0c91",
    "660f1ac1",
    "660f1a08",
    "660f1b08",
    "0f1a0c91",
    "0f1b0c91",
    // Lightweight profiling.
    "8fe97812c3",
    "8fe97812cb",
    "8fea6812c101020304",
    "8fea6812c901020304",
    // Pushes and pops that hint, a jump, a trace packet, loads of what is shared, an undefined one.
    "d50850",
    "d51859",
    "d500a11122334455667788",
    "f30faee1",
    "f3480fae20",
    "0f388a10",
    "660f388b10",
    "d6",
    // Outer products.
    "62f27e485cca",
    "62f27d485eca",
    "62f37c488dca00",
    "62f2fd484aca",
    "62f3fd482fca00",
    "c4e2fb49c0",
    "62f6ec4895c2",
    "62f67f489502",
    "62f6fe4895c2",
    "62f67e4895c2",
];

/// What selects a form: 0 nothing, 1 66, 2 F3, 3 F2.
fn selected(insn: &Insn) -> u8 {
    match insn.encoding() {
        Encoding::Evex => insn.bytes().get(2).map_or(0, |byte| byte & 3),
        Encoding::Vex => insn.bytes().get(2).map_or(0, |byte| byte & 3),
        _ if insn.prefixes().has(Prefixes::REPNE) => 3,
        _ if insn.prefixes().has(Prefixes::REP) => 2,
        _ => u8::from(insn.prefixes().has(Prefixes::OPERAND_SIZE)),
    }
}

pub(super) fn model(insn: &Insn) -> Option<Effects> {
    let mut machine = Machine::new(insn);
    let extension = insn.modrm().map_or(0, |modrm| modrm >> 3 & 7);
    match insn.encoding() {
        Encoding::Legacy | Encoding::Rex2 => legacy(&mut machine, insn, extension),
        Encoding::Xop => profiling(&mut machine, insn, extension),
        Encoding::Vex | Encoding::Evex => products(&mut machine, insn),
        _ => None,
    }
}

fn legacy(machine: &mut Machine<'_>, insn: &Insn, extension: u8) -> Option<Effects> {
    let (reg, rm, memory) = (insn.reg(), insn.rm(), insn.memory().is_some());
    let flags = |flags: &[Flags]| flags.iter().fold(Flags::EMPTY, |all, flag| all.union(*flag));
    Some(match (insn.map(), selected(insn), insn.opcode()) {
        // push and pop of one register, with REX2.W a hint to pair them.
        (Map::OneByte, 0, 0x50..=0x57) if insn.encoding() == Encoding::Rex2 => {
            machine.read(Reg::gpr(rm)).push(8).done()
        }
        (Map::OneByte, 0, 0x58..=0x5f) if insn.encoding() == Encoding::Rex2 => {
            machine.pop(8).write(Reg::gpr(rm)).done()
        }
        (Map::OneByte, 0, 0xa1) if insn.encoding() == Encoding::Rex2 => machine.write(Reg::RIP).done(),
        (Map::OneByte, 0, 0xd6) => machine.done(),
        // SAVEPREVSSP: pops the token that SSP points at, and with it the alignment that CF tells of.
        (Map::M0F, 2, 0x01) if !memory && (extension, rm) == (5, 2) => {
            machine.read_flags(Flags::CF).read(Reg::SSP).write(Reg::SSP).done()
        }
        // RSTORSSP: takes SSP from the token in memory, where the old one's is left.
        (Map::M0F, 2, 0x01) if memory && extension == 5 => {
            machine.load().read(Reg::SSP).store().write(Reg::SSP).set_flags(Flags::STATUS).done()
        }
        // SETSSBSY: SSP comes from IA32_PL0_SSP. What its token holds is on the shadow stack.
        (Map::M0F, 2, 0x01) if !memory && (extension, rm) == (5, 0) => machine.read(Reg::SYSTEM).write(Reg::SSP).done(),
        // UIRET: UIRRV, rip, rflags and rsp are popped; 254DD5H of rflags count; UIF is set.
        (Map::M0F, 2, 0x01) if !memory && (extension, rm) == (5, 4) => {
            let popped = Flags::from_bits(0x25_4dd5);
            machine.pop(8).write(Reg::RIP).write_flags(popped).read(Reg::SSP).write(Reg::SSP);
            machine.read(Reg::SYSTEM).write(Reg::SYSTEM).done()
        }
        // CLRSSBSY: clears the token's busy bit, and SSP.
        (Map::M0F, 2, 0xae) if memory && extension == 6 => {
            machine.load().store().write(Reg::SSP).write_flags(Flags::STATUS).done()
        }
        (Map::M0F, 2, 0xae) if !memory && extension == 5 => {
            machine.read(Reg::gpr(rm)).read(Reg::SSP).write(Reg::SSP).done()
        }
        (Map::M0F, 2, 0xae) if extension == 4 => machine.read_rm(Reg::gpr).done(),
        // RDSSP leaves the register alone where shadow stacks are off.
        (Map::M0F, 2, 0x1e) if !memory && extension == 1 => {
            machine.read(Reg::gpr(rm)).read(Reg::SSP).write(Reg::gpr(rm)).done()
        }
        (Map::M0F38, 0, 0xf6) | (Map::M0F38, 1, 0xf5) => machine.read(Reg::gpr(reg)).store().done(),
        // SYSENTER: cs, rip and rsp come from model-specific registers. SYSEXIT: rip from rdx, rsp from rcx.
        (Map::M0F, 0, 0x34) => {
            machine.read(Reg::SYSTEM).write(Reg::CS).write(Reg::SS).write(Reg::RIP).write(Reg::RSP);
            machine.write_flags(flags(&[Flags::VM, Flags::IF, Flags::RF])).done()
        }
        (Map::M0F, 0, 0x35) => {
            machine.read(Reg::RDX).read(Reg::RCX).read(Reg::SYSTEM).write(Reg::RIP).write(Reg::RSP);
            machine.write(Reg::CS).write(Reg::SS).done()
        }
        // RSM: all comes from the saved state.
        (Map::M0F, 0, 0xaa) => {
            (0..8).for_each(|number| {
                machine.write(Reg::gpr(number));
            });
            machine.write(Reg::RIP).write(Reg::SYSTEM).write_flags(Flags::from_bits(0x3f_7fd5)).done()
        }
        // BNDCL, BNDCU, BNDCN: a register, or an address, is compared.
        (Map::M0F, 2 | 3, 0x1a) | (Map::M0F, 3, 0x1b) => {
            machine.read(Reg::bound(reg));
            if memory { machine.done() } else { machine.read(Reg::gpr(rm)).done() }
        }
        // BNDMK: the base, and the address.
        (Map::M0F, 2, 0x1b) => machine.write(Reg::bound(reg)).done(),
        (Map::M0F, 1, 0x1a) => machine.read_rm(Reg::bound).write(Reg::bound(reg)).done(),
        (Map::M0F, 1, 0x1b) => machine.read(Reg::bound(reg)).write_rm(Reg::bound).done(),
        // BNDLDX, BNDSTX: of tables that the address leads to.
        (Map::M0F, 0, 0x1a) => machine.write(Reg::bound(reg)).done(),
        (Map::M0F, 0, 0x1b) => machine.read(Reg::bound(reg)).done(),
        // MOVRS is a load, of a byte by 8A.
        (Map::M0F38, 0 | 1, 0x8a) => machine.load().write_part(Reg::gpr(reg)).done(),
        (Map::M0F38, operand_size, 0x8b) if operand_size < 2 => {
            machine.load().write_word(reg, operand_size == 1 && !insn.w()).done()
        }
        _ => return None,
    })
}

fn profiling(machine: &mut Machine<'_>, insn: &Insn, extension: u8) -> Option<Effects> {
    Some(match (insn.map(), insn.opcode(), extension) {
        (Map::Xop9, 0x12, 0) => machine.read(Reg::gpr(insn.rm())).write(Reg::SYSTEM).done(),
        (Map::Xop9, 0x12, 1) => machine.read(Reg::SYSTEM).write(Reg::gpr(insn.rm())).write(Reg::SYSTEM).done(),
        // A record goes to the ring buffer; LWPINS says in CF whether it had room.
        (Map::XopA, 0x12, 0 | 1) => {
            machine.read(Reg::gpr(insn.vvvv())).read_rm(Reg::gpr).read(Reg::SYSTEM).write(Reg::SYSTEM);
            machine.set_flags(if extension == 0 { Flags::CF } else { Flags::EMPTY }).done()
        }
        _ => return None,
    })
}

fn products(machine: &mut Machine<'_>, insn: &Insn) -> Option<Effects> {
    let tile = Reg::tile(insn.reg());
    let evex = insn.encoding() == Encoding::Evex;
    Some(match (insn.map(), selected(insn), insn.w(), insn.opcode()) {
        (Map::M0F38, _, false, 0x5c | 0x5e) if evex => {
            machine.read(tile).read(Reg::vector(insn.rm())).read(Reg::vector(insn.vvvv())).read(Reg::TILECFG);
            machine.write(tile).done()
        }
        (Map::M0F3A, _, false, 0x8d | 0x8f) if evex => {
            machine.read(tile).read(Reg::vector(insn.rm())).read(Reg::vector(insn.vvvv())).read(Reg::TILECFG);
            machine.read(Reg::BSR0).write(tile).done()
        }
        // A row or column of the tile, which a register or an immediate names.
        (Map::M0F38, 1, true, 0x4a | 0x4b) if evex => {
            machine.read(Reg::vector(insn.rm())).read(Reg::gpr(insn.vvvv())).read(Reg::TILECFG).write(tile).done()
        }
        (Map::M0F3A, 1, true, 0x07 | 0x2f) if evex => {
            machine.read(Reg::vector(insn.rm())).read(Reg::TILECFG).write(tile).done()
        }
        (Map::M0F38, 3, true, 0x49) if !evex => machine.write(Reg::BSR0).done(),
        (Map::Map6, 0, true, 0x95) => {
            machine.read(Reg::vector(insn.vvvv())).read_rm(Reg::vector).write(Reg::BSR0).done()
        }
        (Map::Map6, 2 | 3, true, 0x95) => machine.read_rm(Reg::vector).write(Reg::BSR0).done(),
        (Map::Map6, 2 | 3, false, 0x95) => machine.read(Reg::BSR0).write_rm(Reg::vector).done(),
        _ => return None,
    })
}
