//! Instructions whose outcome is no function of the state before them.

use insn::x86::{Bits, Encoding, Insn, Map};

/// Why the outcome depends on more than registers and memory; `None` where it does not.
pub fn variable(insn: &Insn) -> Option<&'static str> {
    if insn.encoding() != Encoding::Legacy {
        return None;
    }
    let modrm = insn.modrm().unwrap_or(0);
    let extension = modrm >> 3 & 7;
    match (insn.map(), insn.opcode()) {
        (Map::OneByte, 0xc7) if modrm == 0xf8 => Some("xbegin is aborted when and why the processor likes"),
        (Map::M0F, 0x31) => Some("rdtsc tells the time"),
        (Map::M0F, 0x33) => Some("rdpmc counts events, where the kernel lets it"),
        (Map::M0F, 0x01) => match modrm {
            0xf9 => Some("rdtscp tells the time"),
            0xfd => Some("rdpru counts cycles"),
            0xc1 | 0xd9 => Some("vmcall and vmmcall are answered by a hypervisor"),
            0xfa | 0xfb => Some("monitorx and mwaitx wait for other processors"),
            _ => None,
        },
        (Map::M0F, 0xc7) if modrm >= 0xc0 && extension == 6 => Some("rdrand is chance"),
        (Map::M0F, 0xc7) if modrm >= 0xc0 && extension == 7 && insn.bytes().contains(&0xf3) => None,
        (Map::M0F, 0xc7) if modrm >= 0xc0 && extension == 7 => Some("rdseed is chance"),
        (Map::M0F, 0xae) if modrm >= 0xc0 && extension == 6 => Some("umwait and tpause wait"),
        // They return by the vdso of 32-bit code, which reads the stack; `sysenter` on Intel's processors from 64-bit mode as well.
        (Map::M0F, 0x05) if insn.mode().bits == Bits::B32 => Some("the kernel answers"),
        (Map::M0F, 0x34) => Some("the kernel answers"),
        _ => None,
    }
}
