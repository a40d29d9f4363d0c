//! Other decoders, each as one function of bytes and mode.

mod answer;
mod capstone;
mod iced;
mod yaxpeax;
#[cfg(feature = "zydis")]
mod zydis;

use insn::x86::Mode;
use insn::{Flow, Target};

pub use answer::{ADDRESS, Answer};

/// A decoder.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its name in the file of deviations.
    pub name: &'static str,
    /// Its answer; nothing where it refuses.
    pub decode: fn(&[u8], Mode) -> Option<Answer>,
    /// It reads as either vendor does; the others as Intel.
    pub vendors: bool,
}

/// All that are built.
pub const PEERS: &[Peer] = &[
    Peer { name: "iced-x86", decode: iced::decode, vendors: true },
    Peer { name: "capstone", decode: capstone::decode, vendors: false },
    Peer { name: "yaxpeax-x86", decode: yaxpeax::decode, vendors: false },
    #[cfg(feature = "zydis")]
    Peer { name: "Zydis", decode: zydis::decode, vendors: true },
];

/// Their names, built or not.
pub const NAMES: [&str; 4] = ["iced-x86", "capstone", "yaxpeax-x86", "Zydis"];

/// Our own answer, with the error where we refuse.
pub fn ours(bytes: &[u8], mode: Mode) -> Result<Answer, insn::x86::Error> {
    let insn = insn::x86::decode(bytes, mode)?;
    let near = matches!(insn.flow(), Flow::Jump | Flow::ConditionalJump | Flow::Call);
    let direct = near && matches!(insn.target(), Target::Relative(_) | Target::Absolute(_));
    let target = insn.target_address(ADDRESS).filter(|_| direct);
    Ok(Answer { len: insn.len(), flow: Some(insn.flow()), target })
}
