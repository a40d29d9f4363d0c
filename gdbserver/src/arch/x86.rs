//! Registers of x86-64 and i386 (gdb/features/i386).

use ubp::Arch;
use ubp::arch::Reg;

use super::{Description, Feature, Place, Register};

/// The architecture's name in target triples.
pub(crate) const LLDB_NAME: &str = "x86_64";

/// General registers in gdb's order, with their offsets in `struct user_regs_struct` (sys/user.h).
const GENERAL_64: [(&str, usize, &str); 17] = [
    ("rax", 80, "int64"),
    ("rbx", 40, "int64"),
    ("rcx", 88, "int64"),
    ("rdx", 96, "int64"),
    ("rsi", 104, "int64"),
    ("rdi", 112, "int64"),
    ("rbp", 32, "data_ptr"),
    ("rsp", 152, "data_ptr"),
    ("r8", 72, "int64"),
    ("r9", 64, "int64"),
    ("r10", 56, "int64"),
    ("r11", 48, "int64"),
    ("r12", 24, "int64"),
    ("r13", 16, "int64"),
    ("r14", 8, "int64"),
    ("r15", 0, "int64"),
    ("rip", 128, "code_ptr"),
];
const GENERAL_32: [(&str, usize, &str); 9] = [
    ("eax", 80, "int32"),
    ("ecx", 88, "int32"),
    ("edx", 96, "int32"),
    ("ebx", 40, "int32"),
    ("esp", 152, "data_ptr"),
    ("ebp", 32, "data_ptr"),
    ("esi", 104, "int32"),
    ("edi", 112, "int32"),
    ("eip", 128, "code_ptr"),
];
const FLAGS_AND_SEGMENTS: [(&str, usize, &str); 7] = [
    ("eflags", 144, "i386_eflags"),
    ("cs", 136, "int32"),
    ("ss", 160, "int32"),
    ("ds", 184, "int32"),
    ("es", 192, "int32"),
    ("fs", 200, "int32"),
    ("gs", 208, "int32"),
];
const ORIGINAL_RAX: usize = 120;
const FS_BASE: usize = 168;
const GS_BASE: usize = 176;

/// Registers of the x87 unit's state in `FXSAVE`'s layout (SDM vol. 1, table 10-2).
const X87: [(&str, Place); 8] = [
    ("fctrl", Place::Half(0)),
    ("fstat", Place::Half(2)),
    ("ftag", Place::X87Tags),
    ("fiseg", Place::Float(12)),
    ("fioff", Place::Float(8)),
    ("foseg", Place::Float(20)),
    ("fooff", Place::Float(16)),
    ("fop", Place::Half(6)),
];
const FLAGS: &str = "<flags id=\"i386_eflags\" size=\"4\">\
    <field name=\"\" start=\"22\" end=\"31\"/><field name=\"ID\" start=\"21\" end=\"21\"/><field name=\"VIP\" start=\"20\" end=\"20\"/>\
    <field name=\"VIF\" start=\"19\" end=\"19\"/><field name=\"AC\" start=\"18\" end=\"18\"/><field name=\"VM\" start=\"17\" end=\"17\"/>\
    <field name=\"RF\" start=\"16\" end=\"16\"/><field name=\"NT\" start=\"14\" end=\"14\"/><field name=\"OF\" start=\"11\" end=\"11\"/>\
    <field name=\"DF\" start=\"10\" end=\"10\"/><field name=\"IF\" start=\"9\" end=\"9\"/><field name=\"TF\" start=\"8\" end=\"8\"/>\
    <field name=\"SF\" start=\"7\" end=\"7\"/><field name=\"ZF\" start=\"6\" end=\"6\"/><field name=\"AF\" start=\"4\" end=\"4\"/>\
    <field name=\"PF\" start=\"2\" end=\"2\"/><field name=\"\" start=\"1\" end=\"1\"/><field name=\"CF\" start=\"0\" end=\"0\"/></flags>";
macro_rules! vectors {
    () => {
        "<vector id=\"v4f\" type=\"ieee_single\" count=\"4\"/><vector id=\"v2d\" type=\"ieee_double\" count=\"2\"/>\
    <vector id=\"v16i8\" type=\"int8\" count=\"16\"/><vector id=\"v8i16\" type=\"int16\" count=\"8\"/>\
    <vector id=\"v4i32\" type=\"int32\" count=\"4\"/><vector id=\"v2i64\" type=\"int64\" count=\"2\"/>\
    <union id=\"vec128\"><field name=\"v4_float\" type=\"v4f\"/><field name=\"v2_double\" type=\"v2d\"/>\
    <field name=\"v16_int8\" type=\"v16i8\"/><field name=\"v8_int16\" type=\"v8i16\"/><field name=\"v4_int32\" type=\"v4i32\"/>\
    <field name=\"v2_int64\" type=\"v2i64\"/><field name=\"uint128\" type=\"uint128\"/></union>"
    };
}
/// The types of the 16-byte vector registers and of `mxcsr`.
const SSE_TYPES: &str = concat!(
    vectors!(),
    "<flags id=\"i386_mxcsr\" size=\"4\"><field name=\"IE\" start=\"0\" end=\"0\"/><field name=\"DE\" start=\"1\" end=\"1\"/>\
    <field name=\"ZE\" start=\"2\" end=\"2\"/><field name=\"OE\" start=\"3\" end=\"3\"/><field name=\"UE\" start=\"4\" end=\"4\"/>\
    <field name=\"PE\" start=\"5\" end=\"5\"/><field name=\"DAZ\" start=\"6\" end=\"6\"/><field name=\"IM\" start=\"7\" end=\"7\"/>\
    <field name=\"DM\" start=\"8\" end=\"8\"/><field name=\"ZM\" start=\"9\" end=\"9\"/><field name=\"OM\" start=\"10\" end=\"10\"/>\
    <field name=\"UM\" start=\"11\" end=\"11\"/><field name=\"PM\" start=\"12\" end=\"12\"/><field name=\"FZ\" start=\"15\" end=\"15\"/></flags>"
);
/// The types of the registers that AVX-512 adds.
const WIDE_TYPES: &str = concat!(vectors!(), "<vector id=\"v2ui128\" type=\"uint128\" count=\"2\"/>");

/// The registers of a program. `vector`: the bytes of a vector register on this processor.
pub(crate) fn description(arch: Arch, vector: usize) -> Description {
    let is_64 = arch != Arch::I386;
    let general: &[_] = if is_64 { &GENERAL_64 } else { &GENERAL_32 };
    let word = if is_64 { 8 } else { 4 };
    let low = if is_64 { 16 } else { 8 };
    let row = |&(name, offset, kind): &(&str, usize, &'static str), bytes| {
        Register::new(name, bytes, kind, Place::General(offset))
    };
    let mut core: Vec<Register> = general.iter().map(|entry| row(entry, word)).collect();
    core.extend(FLAGS_AND_SEGMENTS.iter().map(|entry| row(entry, 4)));
    core.extend((0..8).map(|n| Register::new(format!("st{n}"), 10, "i387_ext", Place::Float(32 + 16 * n))));
    core.extend(X87.iter().map(|&(name, place)| Register::new(name, 4, "int32", place)));
    let mut sse: Vec<Register> =
        (0..low).map(|n| Register::new(format!("xmm{n}"), 16, "vec128", Place::Float(160 + 16 * n))).collect();
    sse.push(Register::new("mxcsr", 4, "i386_mxcsr", Place::Float(24)));
    let original = if is_64 { ("orig_rax", "int64") } else { ("orig_eax", "int32") };
    let original = Register::new(original.0, word, original.1, Place::General(ORIGINAL_RAX));
    let feature = |name, types, registers| Feature { name, types, registers };
    let mut features = vec![
        feature("org.gnu.gdb.i386.core", FLAGS, core),
        feature("org.gnu.gdb.i386.sse", SSE_TYPES, sse),
        feature("org.gnu.gdb.i386.linux", "", vec![original]),
    ];
    if is_64 {
        let bases = [("fs_base", FS_BASE), ("gs_base", GS_BASE)];
        let bases = bases.map(|(name, offset)| Register::new(name, 8, "int", Place::General(offset)));
        features.push(feature("org.gnu.gdb.i386.segments", "", bases.into()));
    }
    let part = |name: &str, numbers: std::ops::Range<u8>, bytes, kind, offset| -> Vec<Register> {
        let place = |n| Place::Vector(Reg::vector(n), offset);
        numbers.map(|n| Register::new(name.replace('#', &n.to_string()), bytes, kind, place(n))).collect()
    };
    let low = low as u8;
    if vector >= 32 {
        features.push(feature("org.gnu.gdb.i386.avx", "", part("ymm#h", 0..low, 16, "uint128", 16)));
    }
    if vector >= 64 {
        let all = if is_64 { 32 } else { 8 };
        let mut wide: Vec<Register> =
            (0..8).map(|n| Register::new(format!("k{n}"), 8, "uint64", Place::Vector(Reg::mask(n), 0))).collect();
        wide.extend(part("zmm#h", 0..all, 32, "v2ui128", 32));
        wide.extend(part("xmm#", low..all.max(low), 16, "vec128", 0));
        wide.extend(part("ymm#h", low..all.max(low), 16, "uint128", 16));
        features.push(feature("org.gnu.gdb.i386.avx512", WIDE_TYPES, wide));
    }
    let architecture = if is_64 { "i386:x86-64" } else { "i386" };
    Description { architecture, features }
}

/// The general register of agent expressions with that number: they count as the description does. `None` for a program whose registers have
/// fewer bits than the expressions' values.
pub(crate) fn agent_register(arch: Arch, number: u16) -> Option<Reg> {
    const ORDER: [u8; 16] = [0, 3, 1, 2, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15];
    let number = ORDER.get(usize::from(number)).filter(|_| arch != Arch::I386)?;
    Some(Reg::gpr(*number))
}
