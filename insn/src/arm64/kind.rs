//! Kinds, conditions, landing pads and traps.

use super::Nzcv;

/// The kind of an instruction, as far as stepping and emulation distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Kind {
    /// Any other instruction.
    Plain,
    /// A load-exclusive, which begins an exclusive region.
    LoadExclusive,
    /// A store-exclusive, which ends an exclusive region.
    StoreExclusive,
    /// `clrex`, which ends an exclusive region.
    ClearExclusive,
    /// `bti`.
    Bti,
    /// `paciasp`, `pacibsp`, which sign x30 and are landing pads.
    PacSp,
    /// `svc`.
    Svc,
    /// `brk`.
    Brk,
    /// `hlt`.
    Hlt,
    /// `udf`.
    Udf,
    /// `adr`.
    Adr,
    /// `adrp`.
    Adrp,
    /// The first instruction of a memory copy or set: `cpyp`, `cpyfp`, `setp`, `setgp`.
    MemoryPrologue,
    /// The second instruction of a memory copy or set.
    MemoryMain,
    /// The third instruction of a memory copy or set.
    MemoryEpilogue,
    /// `b`, `bl`.
    Branch,
    /// `b.cond`, `bc.cond`.
    BranchCondition,
    /// `cbz`, `cbnz`.
    BranchZero,
    /// `tbz`, `tbnz`.
    BranchBit,
    /// CMPBR: `cb<cc>`, `cbb<cc>`, `cbh<cc>`.
    BranchCompare,
    /// `br`, `blr`, `ret`.
    BranchRegister,
    /// A branch to a register with pointer authentication: `braa`, `blraaz`, `retab`, `retaasppcr` …
    BranchAuthenticated,
    /// A hint without an effect on registers: `nop`, `yield`, `wfe` …
    Hint,
    /// `mrs`, `mrrs`.
    Mrs,
    /// `msr`, `msrr`, of a register.
    Msr,
    /// `msr` of a field of PSTATE with an immediate, including `smstart` and `smstop`.
    MsrImmediate,
    /// `sys`, `sysl`, `sysp`: cache and TLB maintenance, GCS …
    Sys,
    /// `autiasppc`, `autibsppc`, which authenticate x30 with the address of the signing instruction, relative to their own.
    AuthenticateAt,
    /// `retaasppc`, `retabsppc`, which authenticate x30 like [`Kind::AuthenticateAt`] and return.
    ReturnAuthenticatedAt,
    /// `pacnbiasppc`, `pacnbibsppc`, which sign x30 with their own address and are not landing pads.
    SignAt,
    /// `paciasppc`, `pacibsppc`, which sign x30 with their own address and are landing pads.
    PacSpAt,
    /// `pacm`, which modifies the next signing or authenticating instruction.
    Pacm,
    /// `dmb`, `dsb`, `isb`, `sb`.
    Barrier,
    /// `movprfx`, which forms a unit with the next instruction.
    Prefix,
    /// `tchangef`, `tchangeb`, `tenter`, `texit`, which change TIndex, which selects permissions (POE2, TEV).
    TIndex,
}

/// The effect of an instruction on the exclusive monitor (Arm ARM B2.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exclusive {
    /// A load-exclusive sets the monitor.
    Load,
    /// A store-exclusive succeeds only if the monitor is set, and clears it.
    Store,
    /// `clrex` clears the monitor.
    Clear,
}

/// A landing pad: an instruction at which an indirect branch may land in a guarded page (Arm ARM D8.4.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LandingPad {
    /// `bti` without an operand: no indirect branch may land here.
    None,
    /// `bti c`: calls, and jumps through x16 and x17.
    Call,
    /// `bti j`: jumps.
    Jump,
    /// `bti jc`: calls and jumps.
    Both,
    /// `paciasp`, `pacibsp` and similar: as `bti c`, or as `bti jc` if SCTLR_EL1.BT0 is clear.
    PacSp,
}

/// An exception that an instruction always raises, with the immediate of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trap {
    /// `svc`: a system call.
    Svc(u16),
    /// `brk`: a breakpoint.
    Brk(u16),
    /// `hlt`: halting debug if that is enabled, otherwise undefined.
    Hlt(u16),
    /// `udf`: undefined by definition.
    Udf(u16),
}

/// A condition code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Condition(u8);

impl Condition {
    /// The condition with a code, 0 (`eq`) to 15 (`nv`, which always holds, like `al`).
    pub const fn new(code: u32) -> Condition {
        Condition(code as u8 & 15)
    }
    /// The code, 0 to 15.
    pub const fn code(self) -> u8 {
        self.0
    }
    /// The flags that the condition reads.
    pub const fn flags(self) -> Nzcv {
        match self.0 >> 1 {
            0 => Nzcv::Z,
            1 => Nzcv::C,
            2 => Nzcv::N,
            3 => Nzcv::V,
            4 => Nzcv::C.union(Nzcv::Z),
            5 => Nzcv::N.union(Nzcv::V),
            6 => Nzcv::N.union(Nzcv::V).union(Nzcv::Z),
            _ => Nzcv::EMPTY,
        }
    }
    /// Whether the condition holds with these flags set (ConditionHolds, Arm ARM J1).
    pub const fn holds(self, flags: Nzcv) -> bool {
        let n_is_v = flags.contains(Nzcv::N) == flags.contains(Nzcv::V);
        let holds = match self.0 >> 1 {
            0 => flags.contains(Nzcv::Z),
            1 => flags.contains(Nzcv::C),
            2 => flags.contains(Nzcv::N),
            3 => flags.contains(Nzcv::V),
            4 => flags.contains(Nzcv::C) && !flags.contains(Nzcv::Z),
            5 => n_is_v,
            6 => n_is_v && !flags.contains(Nzcv::Z),
            _ => return true,
        };
        holds != (self.0 & 1 == 1)
    }
}
