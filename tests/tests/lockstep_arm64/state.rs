//! All that a signal frame shows of a thread.

use insn::arm64::Reg;
use stepping::arm64::Registers;

use crate::lab::Lab;

/// NZCV in PSTATE.
const FLAGS: u64 = 0xf << 28;
const BTYPE: u64 = 3 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) general: [u64; 31],
    pub(crate) sp: u64,
    pub(crate) pc: u64,
    pub(crate) pstate: u64,
    pub(crate) vectors: [u128; 32],
    /// FPSR and FPCR.
    pub(crate) floating: [u32; 2],
    /// Whether code lies in guarded pages.
    pub(crate) guarded: bool,
}

/// Why a thread stopped.
pub(crate) struct Stop {
    pub(crate) state: State,
    pub(crate) signal: i32,
    pub(crate) code: i32,
    pub(crate) address: u64,
    pub(crate) data: Vec<u8>,
}

impl Stop {
    /// In what another differs.
    pub(crate) fn differences(&self, other: &Stop) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |name: &str, left: u128, right: u128| {
            if left != right {
                found.push(format!("{name}: {left:#x}, {right:#x}"));
            }
        };
        let (left, right) = (&self.state, &other.state);
        for number in 0..31 {
            compare(&format!("x{number}"), left.general[number].into(), right.general[number].into());
        }
        for number in 0..32 {
            compare(&format!("v{number}"), left.vectors[number], right.vectors[number]);
        }
        compare("sp", left.sp.into(), right.sp.into());
        compare("pc", left.pc.into(), right.pc.into());
        compare("pstate", left.pstate.into(), right.pstate.into());
        compare("fpsr", left.floating[0].into(), right.floating[0].into());
        compare("fpcr", left.floating[1].into(), right.floating[1].into());
        compare("signal", self.signal as u128, other.signal as u128);
        compare("code", self.code as u128, other.code as u128);
        compare("address", self.address.into(), other.address.into());
        for (at, (left, right)) in self.data.iter().zip(&other.data).enumerate() {
            compare(&format!("data {at:#x}"), (*left).into(), (*right).into());
        }
        found
    }
}

impl State {
    /// Anything, but x0 leads to data, sp to their midst, and x1 and x30 to code.
    pub(crate) fn random(seed: u64, lab: &Lab) -> State {
        let mut next = seed;
        let mut random = || {
            next = next.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            next ^ next >> 29
        };
        let mut general = std::array::from_fn(|_| random());
        (general[0], general[1], general[30]) = (lab.data(), lab.site() + 0x400, lab.site() + 0x600);
        State {
            general,
            sp: lab.data() + 0x400,
            pc: lab.site(),
            pstate: random() & FLAGS,
            vectors: std::array::from_fn(|_| u128::from(random()) << 64 | u128::from(random())),
            floating: [0, 0],
            guarded: lab.guarded(),
        }
    }
}

impl Registers for State {
    fn get(&self, reg: Reg) -> u64 {
        match reg {
            Reg::SP => self.sp,
            Reg::PC => self.pc,
            Reg::NZCV => self.pstate & FLAGS,
            _ => self.general[usize::from(reg.as_general().unwrap())],
        }
    }
    fn set(&mut self, reg: Reg, value: u64) {
        match reg {
            Reg::PC => self.pc = value,
            _ => self.general[usize::from(reg.as_general().unwrap())] = value,
        }
    }
    fn branch_type(&self) -> u8 {
        ((self.pstate & BTYPE) >> 10) as u8
    }
    fn set_branch_type(&mut self, branch_type: u8) {
        self.pstate = self.pstate & !BTYPE | u64::from(branch_type) << 10;
    }
    fn guarded(&self) -> bool {
        self.guarded
    }
}
