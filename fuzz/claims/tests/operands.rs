//! Operands are what is read and written, and have the sizes that iced-x86 tells.

use std::collections::{BTreeMap, BTreeSet};

use claims::generate::encodings;
use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind};
use insn::Access;
use insn::x86::{Bits, Encoding, Insn, Map, Mode, Operand, OperandKind, Reg, RegSet, Vendor, decode};

const MODES: [Mode; 4] = [Mode::INTEL_64, Mode::AMD_64, Mode::INTEL_32, Mode::AMD_32];
/// Differences that a failure names.
const MOST: usize = 100;
const GENERAL: RegSet = RegSet::from_bits(0xffff_ffff);
/// What is never an operand unless it is named.
const STATE: [Reg; 8] = [Reg::FLAGS, Reg::RIP, Reg::MXCSR, Reg::X87, Reg::SSP, Reg::SYSTEM, Reg::TILECFG, Reg::BSR0];

fn members(kind: OperandKind) -> RegSet {
    match kind {
        OperandKind::Register(reg) | OperandKind::HighByte(reg) => RegSet::EMPTY.with(reg),
        OperandKind::Registers { first, count } => {
            (0..count).fold(RegSet::EMPTY, |set, n| set.with(Reg::from_number(first.number() + n)))
        }
        _ => RegSet::EMPTY,
    }
}

fn with_bases(set: RegSet) -> RegSet {
    let with = |set: RegSet, (segment, base)| if set.contains(segment) { set.with(base) } else { set };
    [(Reg::FS, Reg::FS_BASE), (Reg::GS, Reg::GS_BASE)].into_iter().fold(set, with)
}

/// Registers that operands read and write, and those of their addresses.
fn of_operands(insn: &Insn) -> (RegSet, RegSet, RegSet) {
    let (mut read, mut written, mut addresses) = (RegSet::EMPTY, RegSet::EMPTY, RegSet::EMPTY);
    for operand in insn.operands() {
        let registers = members(operand.kind);
        if matches!(operand.access, Access::Read | Access::ReadWrite) {
            read = read.union(registers);
        }
        if matches!(operand.access, Access::Write | Access::ReadWrite) {
            written = written.union(registers);
        }
        if let OperandKind::Memory(memory) = operand.kind {
            let parts = [memory.base, memory.index].into_iter().flatten().fold(RegSet::EMPTY, RegSet::with);
            let segment = matches!(memory.segment, Reg::FS | Reg::GS).then_some(memory.segment);
            addresses = addresses.union(with_bases(segment.into_iter().fold(parts, RegSet::with)));
        }
    }
    // Some processors keep the base of a segment whose selector they load.
    let loaded = |segment: &Reg| written.contains(*segment);
    let segments = [Reg::FS, Reg::GS].into_iter().filter(loaded).fold(RegSet::EMPTY, RegSet::with);
    let kept = with_bases(segments).difference(segments);
    (read.union(kept), with_bases(written), addresses)
}

#[test]
fn every_register_that_is_read_or_written_is_an_operand_or_part_of_an_address_and_vice_versa() {
    let (mut wrong, mut compared) = (BTreeMap::new(), 0);
    for mode in MODES {
        encodings(mode.bits, &mut |bytes| {
            let Ok(insn) = decode(bytes, mode) else { return };
            compared += 1;
            let (read, written, addresses) = of_operands(&insn);
            let (reads, writes) = (insn.reads(), insn.writes());
            let used = reads.union(writes);
            // What has the whole x87 stack, or all state, names none of it.
            let all = (0..8).all(|n| used.contains(Reg::mmx(n)));
            let state = STATE.into_iter().fold(RegSet::EMPTY, RegSet::with);
            let aside = if all { GENERAL.with(Reg::XCR0).complement() } else { state };
            let missing = [
                reads.difference(read.union(addresses)).difference(aside),
                writes.difference(written).difference(aside),
                read.difference(reads).difference(aside),
                written.difference(writes).difference(aside),
            ];
            if missing.iter().any(|set| !set.is_empty()) {
                wrong.entry(insn.mnemonic()).or_insert_with(|| format!("{insn:?}: {missing:?}"));
            }
        });
    }
    println!("{compared} encodings");
    let some: Vec<String> = wrong.iter().take(MOST).map(|(name, text)| format!("{name}: {text}")).collect();
    assert!(
        wrong.is_empty(),
        "{} names: read but no operand, written but none, operands not read, not written\n{}",
        wrong.len(),
        some.join("\n")
    );
}

fn iced(bytes: &[u8], mode: Mode) -> Option<Instruction> {
    let vendor = if mode.vendor == Vendor::Amd { DecoderOptions::AMD } else { DecoderOptions::MPX };
    let bits = if mode.bits == Bits::B64 { 64 } else { 32 };
    let found = Decoder::with_ip(bits, bytes, 0, vendor).decode();
    (!found.is_invalid()).then_some(found)
}

/// Kind and size of each operand that iced-x86 lists.
fn theirs(found: &Instruction) -> String {
    let text = |number| match found.op_kind(number) {
        OpKind::Register => {
            let register = found.op_register(number);
            if register.is_k() || register.is_tmm() { "r".to_owned() } else { format!("r{}", register.size()) }
        }
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => "j".to_owned(),
        OpKind::FarBranch16 => "f4".to_owned(),
        OpKind::FarBranch32 => "f6".to_owned(),
        OpKind::Immediate8 | OpKind::Immediate8_2nd => "i1".to_owned(),
        OpKind::Immediate16 => "i2".to_owned(),
        OpKind::Immediate32 => "i4".to_owned(),
        OpKind::Immediate64 => "i8".to_owned(),
        OpKind::Immediate8to16 | OpKind::Immediate8to32 | OpKind::Immediate8to64 => "s1".to_owned(),
        OpKind::Immediate32to64 => "s4".to_owned(),
        _ => format!("m{}", found.memory_size().size()),
    };
    (0..found.op_count()).map(text).collect::<Vec<_>>().join(" ")
}

/// The same of our explicit operands.
fn ours(insn: &Insn) -> String {
    let explicit: Vec<Operand> = insn.operands().filter(|operand| !operand.implicit).collect();
    // iced-x86 tells the mask apart.
    let is_vector = insn.encoding() == Encoding::Evex && insn.map() != Map::Map4;
    let masked = is_vector && insn.bytes()[insn.opcode_offset() - 1] & 7 != 0;
    let shown = explicit.len() - usize::from(masked);
    let extends = |size: u16| size < u16::from(insn.operand_size());
    let text = |operand: &Operand| match operand.kind {
        OperandKind::Register(reg) if matches!(reg.number(), 64..72 | 104..112) => "r".to_owned(),
        OperandKind::Register(_) | OperandKind::HighByte(_) | OperandKind::X87(_) => format!("r{}", operand.size),
        OperandKind::Registers { first, .. } if matches!(first.number(), 64..72 | 104..112) => "r".to_owned(),
        OperandKind::Registers { .. } => format!("r{}", operand.size),
        OperandKind::Memory(_) => format!("m{}", operand.size),
        OperandKind::Immediate { signed, .. } if signed && extends(operand.size) => format!("s{}", operand.size),
        OperandKind::Immediate { .. } => format!("i{}", operand.size),
        OperandKind::Relative(_) => "j".to_owned(),
        OperandKind::Far { .. } => format!("f{}", operand.size),
        OperandKind::Constant(_) => "i1".to_owned(),
        _ => "?".to_owned(),
    };
    explicit.iter().take(shown).map(text).collect::<Vec<_>>().join(" ")
}

#[test]
fn explicit_operands_have_the_kinds_and_sizes_that_iced_tells() {
    let (mut wrong, mut compared) = (BTreeMap::new(), 0);
    let mut known = BTreeSet::new();
    for mode in MODES {
        encodings(mode.bits, &mut |bytes| {
            let Ok(insn) = decode(bytes, mode) else { return };
            let Some(found) = iced(bytes, mode) else { return };
            compared += 1;
            let (ours, theirs) = (ours(&insn), theirs(&found));
            if ours != theirs {
                let difference = format!("{} {ours}: {theirs}", insn.mnemonic());
                let is_about = |text: &&str| **text == *insn.mnemonic() || **text == *difference;
                match SIZED_OTHERWISE.iter().flat_map(|(texts, _)| texts.iter().copied()).find(is_about) {
                    Some(text) => drop(known.insert(text)),
                    None => drop(wrong.entry(difference).or_insert_with(|| format!("{insn:?}"))),
                }
            }
        });
    }
    println!("{compared} encodings");
    let some: Vec<String> = wrong.iter().take(MOST * 4).map(|(name, text)| format!("{name}: {text}")).collect();
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), some.join("\n"));
    let listed: BTreeSet<&str> = SIZED_OTHERWISE.iter().flat_map(|(names, _)| names.iter().copied()).collect();
    assert_eq!(known, listed, "names that differ, and names that are listed");
}

/// Names whose operands iced-x86 tells otherwise, or one difference of a name; and who judges as we do.
const SIZED_OTHERWISE: &[(&[&str], &str)] = &[
    (
        &[
            "insb",
            "insw",
            "insd",
            "outsb",
            "outsw",
            "outsd",
            "movsb",
            "movsd : m4 m4",
            "movsw",
            "movsq",
            "cmpsb",
            "cmpsw",
            "cmpsd : m4 m4",
            "cmpsq",
            "stosb",
            "stosw",
            "stosd",
            "stosq",
            "lodsb",
            "lodsw",
            "lodsd",
            "lodsq",
            "scasb",
            "scasw",
            "scasd",
            "scasq",
            "xlatb",
            "maskmovq",
            "maskmovdqu",
            "vmaskmovdqu",
        ],
        "SDM vol. 2: operands of these are implied",
    ),
    (&["invlpga", "skinit"], "APM vol. 3: they name rAX, and ECX"),
    (
        &["arpl", "lldt", "ltr", "verr", "verw", "lmsw", "lkgs", "mov r2 r2: r2 r4", "mov r2 r2: r2 r8"],
        "SDM vol. 2: r/m16",
    ),
    (&["mov r4 r4: r4 r8", "mov r4 r4: r8 r4"], "SDM vol. 2B, MOV: control registers have 32 bits outside 64-bit mode"),
    (&["tpause", "umwait"], "SDM vol. 2: r32, whatever W is"),
    (&["clflush", "clflushopt", "clwb"], "SDM vol. 2: a cache line, which has 64 bytes"),
    (
        &[
            "cldemote",
            "prefetch",
            "prefetchw",
            "prefetchwt1",
            "prefetchnta",
            "prefetcht0",
            "prefetcht1",
            "prefetcht2",
            "prefetchit0",
            "prefetchit1",
            "bndcl r16 m0: r16 m4",
            "bndcl r16 m0: r16 m8",
            "bndcn r16 m0: r16 m4",
            "bndcn r16 m0: r16 m8",
            "bndcu r16 m0: r16 m4",
            "bndcu r16 m0: r16 m8",
            "bndmk",
        ],
        "SDM vol. 2: an address, of which nothing is read",
    ),
    (&["nop", "prefetchrst2"], "SDM vol. 2: r/m; iced-x86 has two operands of reserved ones"),
    (&["ud1"], "APM vol. 3: it has no modrm on AMD"),
    (&["fstpnce"], "APM vol. 3 A.1.5: as fstp"),
    (&["movsxd r2 m4: r2 m2", "movsxd r2 r4: r2 r2"], "Zen 4 reads four bytes whatever the prefix"),
];
