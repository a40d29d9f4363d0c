//! A64 words as other decoders see them, and where these deviate from the manual.

mod deviations;
mod peers;

pub use deviations::{Difference, Disagreement, Judge, Row, compare, difference, differs, list};
pub(crate) use peers::of_text;
pub use peers::{Answer, PEERS, Peer, ours};

/// Random words, and words with fields of zeros and ones, which often have meanings of their own.
pub fn words(seed: u64) -> impl Iterator<Item = u32> {
    const FIELDS: [u32; 8] = [0x1f, 0x3e0, 0xfc00, 0xe000, 0x1f_0000, 0x3f_0000, 0xc0_0000, 0x1c00];
    let mut state = seed | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (word, choice) = ((state >> 32) as u32, state as u32);
        let field = FIELDS[(choice & 7) as usize];
        match choice >> 3 & 7 {
            0 => word & !field,
            1 => word | field,
            // Exceptions, system instructions and branches to registers are rare among random words.
            2 => word & 0x03ff_ffff | 0xd400_0000,
            _ => word,
        }
    })
}

/// Every value of bits 31 to 10 but that of the lowest words, which are all `udf`, with the same bits behind it.
pub fn encodings(low: u32) -> impl Iterator<Item = u32> {
    (0x40..1 << 22).map(move |high: u32| high << 10 | low & 0x3ff)
}

/// Every linked decoder accepts the words that ours accepts, with the same branches, except for listed deviations.
///
/// # Panics
/// The claim does not hold.
pub fn decoders(data: &[u8]) {
    for word in words_of(data) {
        for peer in PEERS {
            if let Some(found) = compare(peer.name, word, (peer.decode)(word)) {
                panic!("{found}");
            }
        }
    }
}

/// For any word nothing panics, and different ways to ask the same question have one answer.
///
/// # Panics
/// The claim does not hold.
pub fn any_word(data: &[u8]) {
    for word in words_of(data) {
        let Ok(insn) = insn::arm64::decode(word) else { continue };
        assert_eq!(insn.flow(), insn::arm64::flow_of_allocated(word), "{word:#010x}");
        assert!(insn == insn::arm64::decode_allocated(word), "{word:#010x}");
        assert!(insn.operands().count() < 12, "{word:#010x}");
        let effects = insn.effects();
        assert_eq!((effects.reads, effects.writes), (insn.reads(), insn.writes()), "{word:#010x}");
        assert_eq!(effects.memories, insn.memories(), "{word:#010x}");
        assert!(!effects.writes.contains(insn::arm64::Reg::XZR) && !effects.reads.contains(insn::arm64::Reg::XZR));
        for memory in effects.memories.iter().flatten() {
            assert_eq!(
                memory.registers().without(insn::arm64::Reg::XZR).bits() & !effects.reads.bits(),
                0,
                "{word:#010x}"
            );
        }
        let relative = insn.pc_relative().map(|way| way.address(0x1000));
        assert!(insn.target_address(0x1000).is_none_or(|target| relative == Some(target)), "{word:#010x}");
        assert!(insn.trap().is_none() || insn.exclusive().is_none(), "{word:#010x}");
        let _ = (insn.kind(), insn.condition(), insn.landing_pad(), insn.is_unpredictable());
    }
}

/// The whole words of `data`.
pub fn words_of(data: &[u8]) -> impl Iterator<Item = u32> + '_ {
    data.chunks_exact(4).map(|word| word.try_into().map_or(0, u32::from_le_bytes))
}
