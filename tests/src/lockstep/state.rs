//! What a thread can see of itself.

use std::ops::Range;
use std::sync::OnceLock;

use insn::x86::{Bits, Reg};
use libc::user_regs_struct;

use super::program::{DATA_SIZE, LOW_SIZE, Layout, SHARED_SIZE, STACK_SIZE};
use super::registers::field;
use crate::{Random, cpuid};

/// Registers and memory of the child before or after a run.
#[derive(Clone)]
pub struct State {
    /// General registers, flags, selectors and segment bases.
    pub regs: user_regs_struct,
    /// XSAVE area, standard format.
    pub xstate: Vec<u8>,
    /// Data window.
    pub data: Vec<u8>,
    /// Stack window.
    pub stack: Vec<u8>,
    /// Window shared with forked children.
    pub shared: Vec<u8>,
    /// Window that 32-bit addresses reach.
    pub low: Vec<u8>,
    /// Where these windows lie.
    pub layout: Layout,
}

/// XSAVE components that are made random (SDM vol. 1, 13.1): x87, SSE, AVX, opmask, ZMM_Hi256, Hi16_ZMM.
pub(crate) const RANDOM_COMPONENTS: u64 = 0xe7;
/// Flags that are made random: CF, PF, AF, ZF, SF, DF, OF.
const RANDOM_FLAGS: u64 = 0xcd5;

impl State {
    /// Zeroes.
    pub(super) fn empty(layout: Layout) -> State {
        State {
            // SAFETY: all zero is a valid value.
            regs: unsafe { std::mem::zeroed() },
            xstate: Vec::new(),
            data: vec![0; DATA_SIZE as usize],
            stack: vec![0; STACK_SIZE as usize],
            shared: vec![0; SHARED_SIZE as usize],
            low: vec![0; LOW_SIZE as usize],
            layout,
        }
    }

    /// All memory, by address.
    pub fn windows(&self) -> [(u64, &[u8]); 4] {
        let Layout { data, stack, shared, low, .. } = self.layout;
        [(data, &self.data), (stack, &self.stack), (shared, &self.shared), (low, &self.low)]
    }

    /// All memory, by address, to be changed.
    pub fn windows_mut(&mut self) -> [(u64, &mut [u8]); 4] {
        let Layout { data, stack, shared, low, .. } = self.layout;
        [(data, &mut self.data), (stack, &mut self.stack), (shared, &mut self.shared), (low, &mut self.low)]
    }

    /// A random state. Registers point into the data often, rsp into the middle of the stack always.
    pub(super) fn random(bits: Bits, layout: Layout, base: &State, rng: &mut Random) -> State {
        let mut state = State { regs: base.regs, xstate: base.xstate.clone(), ..State::empty(layout) };
        rng.fill(&mut state.data);
        rng.fill(&mut state.stack);
        rng.fill(&mut state.low);
        let mut value = || {
            let value = match rng.below(8) {
                0..=4 => layout.data + DATA_SIZE / 4 + rng.below(DATA_SIZE / 2),
                5 => rng.below(256),
                _ => rng.next(),
            };
            if bits == Bits::B64 { value } else { value & 0xffff_ffff }
        };
        let regs = &mut state.regs;
        for register in
            [&mut regs.rax, &mut regs.rcx, &mut regs.rdx, &mut regs.rbx, &mut regs.rbp, &mut regs.rsi, &mut regs.rdi]
        {
            *register = value();
        }
        if bits == Bits::B64 {
            for register in [
                &mut regs.r8,
                &mut regs.r9,
                &mut regs.r10,
                &mut regs.r11,
                &mut regs.r12,
                &mut regs.r13,
                &mut regs.r14,
                &mut regs.r15,
            ] {
                *register = value();
            }
        }
        regs.fs_base = layout.data + 0x1000;
        regs.gs_base = layout.data + 0x2000;
        regs.rsp = layout.stack + STACK_SIZE / 2 + 8 * rng.below(64);
        regs.eflags = 0x202 | rng.next() & RANDOM_FLAGS;
        regs.orig_rax = u64::MAX;
        state.randomize_vectors(rng);
        state
    }

    fn randomize_vectors(&mut self, rng: &mut Random) {
        // Control word, status word (top of stack random), tags, FOP, FIP, FDP, MXCSR as after a reset.
        let top = (rng.below(8) as u16) << 11;
        self.xstate[0..2].copy_from_slice(&0x37f_u16.to_le_bytes());
        self.xstate[2..4].copy_from_slice(&top.to_le_bytes());
        self.xstate[4] = rng.next() as u8 | 0x0f;
        self.xstate[5..24].fill(0);
        self.xstate[24..28].copy_from_slice(&0x1f80_u32.to_le_bytes());
        for register in 0..8 {
            let exponent = 0x3fff + rng.below(16) as u16;
            let at = 32 + 16 * register;
            rng.fill(&mut self.xstate[at..at + 8]);
            self.xstate[at + 7] |= 0x80;
            self.xstate[at + 8..at + 10].copy_from_slice(&exponent.to_le_bytes());
            self.xstate[at + 10..at + 16].fill(0);
        }
        rng.fill(&mut self.xstate[160..416]);
        let enabled = self.xcr0() & RANDOM_COMPONENTS;
        for component in (2..8).filter(|component| enabled >> component & 1 != 0) {
            if let Some(range) = component_range(component) {
                rng.fill(&mut self.xstate[range]);
            }
        }
        let present = self.xcr0() & RANDOM_COMPONENTS | u64_at(&self.xstate, 512);
        self.xstate[512..520].copy_from_slice(&present.to_le_bytes());
    }

    /// The features that the kernel has enabled, as it notes them in the software-reserved bytes.
    pub(crate) fn xcr0(&self) -> u64 {
        u64_at(&self.xstate, 464)
    }

    /// Address of the last x87 instruction.
    pub(super) fn fip(&self) -> u64 {
        u64_at(&self.xstate, 8)
    }

    /// Whether the last x87 instruction's opcode was recorded: many an Intel does so at an unmasked exception only
    /// (SDM vol. 1, 8.1.9.1).
    pub(super) fn has_fop(&self) -> bool {
        self.xstate[6..8] != [0, 0]
    }

    /// The low byte of the last x87 instruction's opcode.
    pub(super) fn set_fop_modrm(&mut self, modrm: u8) {
        self.xstate[6] = modrm;
    }

    pub(super) fn set_fip(&mut self, address: u64) {
        self.xstate[8..16].copy_from_slice(&address.to_le_bytes());
    }

    /// A general register.
    pub fn gpr(&self, number: u8) -> u64 {
        let mut regs = self.regs;
        field(&mut regs, Reg::gpr(number)).map_or(0, |value| *value)
    }

    /// A general register, to be changed; rax for those of APX.
    pub fn gpr_mut(&mut self, number: u8) -> &mut u64 {
        field(&mut self.regs, Reg::gpr(number & 15)).expect("one of sixteen")
    }

    /// Sets MXCSR.
    pub fn set_mxcsr(&mut self, value: u32) {
        self.xstate[24..28].copy_from_slice(&value.to_le_bytes());
    }

    /// Sets the low 128 bits of a vector register.
    pub fn set_xmm(&mut self, register: usize, bytes: [u8; 16]) {
        self.xstate[160 + 16 * register..][..16].copy_from_slice(&bytes);
    }

    /// Puts `bytes` at an address in one of the windows.
    ///
    /// # Panics
    /// Where no window holds them.
    pub fn poke(&mut self, address: u64, bytes: &[u8]) {
        for (base, window) in self.windows_mut() {
            let offset = address.checked_sub(base).map(|offset| offset as usize);
            if let Some(target) = offset.and_then(|offset| window.get_mut(offset..offset + bytes.len())) {
                target.copy_from_slice(bytes);
                return;
            }
        }
        panic!("{address:#x} lies in no window");
    }
}

/// Bytes of a component in the standard format (SDM vol. 1, 13.4.3); none where the processor does not have it.
pub(crate) fn component_range(component: u32) -> Option<Range<usize>> {
    // CPUID takes long under a hypervisor.
    static RANGES: [OnceLock<Option<Range<usize>>>; 64] = [const { OnceLock::new() }; 64];
    let range = RANGES[component as usize].get_or_init(|| {
        let leaf = cpuid(0xd, component);
        (leaf.eax != 0).then_some(leaf.ebx as usize..(leaf.ebx + leaf.eax) as usize)
    });
    range.clone()
}

/// Start and length of the `n`th of a component's elements of `size` bytes; nothing where the processor does not have it.
pub(crate) fn component_element(component: u32, n: usize, size: usize) -> (usize, usize) {
    component_range(component).map_or((0, 0), |range| (range.start + n * size, size))
}

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}
