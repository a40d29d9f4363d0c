use super::insn::Insn;

const NOP: u32 = 0xd503_201f;

pub(super) fn decode(bytes: &[u8], pc: u64) -> Option<Insn> {
    let word = u32::from_le_bytes(*bytes.first_chunk()?);
    let insn = ::insn::arm64::decode(word).ok()?;
    let (flow, target) = (insn.flow(), insn.target_address(pc));
    Some(Insn { len: ::insn::arm64::LEN, flow, target, prefixes: 0, is_padding: word == NOP })
}
