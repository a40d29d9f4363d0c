//! Registers of arm64 (gdb/features/aarch64-*.xml).

use ubp::Arch;
use ubp::arch::Reg;

use super::{Description, Feature, Place, Register};

/// The architecture's name in target triples.
pub(crate) const LLDB_NAME: &str = "aarch64";

const FLAGS: &str = "<flags id=\"cpsr_flags\" size=\"4\"><field name=\"SP\" start=\"0\" end=\"0\"/><field name=\"EL\" start=\"2\" end=\"3\"/>\
    <field name=\"nRW\" start=\"4\" end=\"4\"/><field name=\"F\" start=\"6\" end=\"6\"/><field name=\"I\" start=\"7\" end=\"7\"/>\
    <field name=\"A\" start=\"8\" end=\"8\"/><field name=\"D\" start=\"9\" end=\"9\"/><field name=\"IL\" start=\"20\" end=\"20\"/>\
    <field name=\"SS\" start=\"21\" end=\"21\"/><field name=\"V\" start=\"28\" end=\"28\"/><field name=\"C\" start=\"29\" end=\"29\"/>\
    <field name=\"Z\" start=\"30\" end=\"30\"/><field name=\"N\" start=\"31\" end=\"31\"/></flags>";
const VECTORS: &str = "<vector id=\"v2d\" type=\"ieee_double\" count=\"2\"/><vector id=\"v2u\" type=\"uint64\" count=\"2\"/>\
    <vector id=\"v4f\" type=\"ieee_single\" count=\"4\"/><vector id=\"v4u\" type=\"uint32\" count=\"4\"/>\
    <vector id=\"v8u\" type=\"uint16\" count=\"8\"/><vector id=\"v16u\" type=\"uint8\" count=\"16\"/>\
    <union id=\"aarch64v\"><field name=\"d\" type=\"v2d\"/><field name=\"du\" type=\"v2u\"/><field name=\"s\" type=\"v4f\"/>\
    <field name=\"su\" type=\"v4u\"/><field name=\"hu\" type=\"v8u\"/><field name=\"bu\" type=\"v16u\"/>\
    <field name=\"q\" type=\"uint128\"/></union>";

/// The registers of a program. `_vector`: registers of SVE are not described.
pub(crate) fn description(_arch: Arch, _vector: usize) -> Description {
    let mut core: Vec<Register> =
        (0..31).map(|n| Register::new(format!("x{n}"), 8, "int64", Place::General(8 * n))).collect();
    core.push(Register::new("sp", 8, "data_ptr", Place::General(248)));
    core.push(Register::new("pc", 8, "code_ptr", Place::General(256)));
    core.push(Register::new("cpsr", 4, "cpsr_flags", Place::General(264)));
    let mut float: Vec<Register> =
        (0..32).map(|n| Register::new(format!("v{n}"), 16, "aarch64v", Place::Float(16 * n))).collect();
    float.push(Register::new("fpsr", 4, "int32", Place::Float(512)));
    float.push(Register::new("fpcr", 4, "int32", Place::Float(516)));
    let thread = vec![Register::new("tpidr", 8, "data_ptr", Place::Vector(Reg::TPIDR, 0))];
    let feature = |name, types, registers| Feature { name, types, registers };
    let features = vec![
        feature("org.gnu.gdb.aarch64.core", FLAGS, core),
        feature("org.gnu.gdb.aarch64.fpu", VECTORS, float),
        feature("org.gnu.gdb.aarch64.tls", "", thread),
    ];
    Description { architecture: "aarch64", features }
}

/// The register of agent expressions with that number: they count as the description does.
pub(crate) fn agent_register(_arch: Arch, number: u16) -> Option<Reg> {
    match number {
        0..=30 => Some(Reg::general(number.into())),
        31 => Some(Reg::SP),
        _ => None,
    }
}
