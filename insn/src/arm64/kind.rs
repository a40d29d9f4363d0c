//! What needs to be known of an instruction beside its flow and effects.

use super::Nzcv;

/// What sort of instruction it is, as far as stepping and emulation need to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Kind {
    /// Anything else.
    Plain,
    /// Load-exclusive: begins an exclusive region.
    LoadExclusive,
    /// Store-exclusive: ends one.
    StoreExclusive,
    /// `clrex`: ends one.
    ClearExclusive,
    /// `bti`.
    Bti,
    /// `paciasp`, `pacibsp`, `paciasppc`, `pacibsppc`: they sign x30 and are landing pads.
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
    /// Memory copy and set, first of three: `cpyp`, `cpyfp`, `setp`, `setgp`.
    MemoryPrologue,
    /// The second of three.
    MemoryMain,
    /// The third of three.
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
    /// The same with pointer authentication: `braa`, `blraaz`, `retab`, `retaasppc` …
    BranchAuthenticated,
    /// A hint without an effect on registers: `nop`, `yield`, `wfe` …
    Hint,
    /// `mrs`, `mrrs`.
    Mrs,
    /// `msr`, `msrr`, of a register.
    Msr,
    /// `msr` of a field of PSTATE, by an immediate: `smstart` and `smstop` among them.
    MsrImmediate,
    /// `sys`, `sysl`, `sysp`: cache and TLB maintenance, GCS …
    Sys,
    /// `autiasppc`, `autibsppc`: they authenticate x30 with the address of the signing instruction, told relative to this one.
    AuthenticateAt,
    /// `retaasppc`, `retabsppc`: the same and a return.
    ReturnAuthenticatedAt,
    /// `pacnbiasppc`, `pacnbibsppc`: they sign x30 with their own address, and are no landing pads.
    SignAt,
    /// `paciasppc`, `pacibsppc`: they sign x30 with their own address, and are landing pads.
    PacSpAt,
    /// `pacm`: changes what the next signing or authenticating instruction does.
    Pacm,
    /// `dmb`, `dsb`, `isb`, `sb`.
    Barrier,
    /// `movprfx`: one with the instruction that follows it.
    Prefix,
    /// `tchangef`, `tchangeb`, `tenter`, `texit`: they change TIndex, which chooses permissions (POE2, TEV).
    TIndex,
}

/// What an instruction is to the exclusive monitor (Arm ARM B2.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exclusive {
    /// A load-exclusive opens the monitor.
    Load,
    /// A store-exclusive succeeds only where it is open, and closes it.
    Store,
    /// `clrex` closes it.
    Clear,
}

/// A place where an indirect branch may land in a guarded page (Arm ARM D8.4.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LandingPad {
    /// `bti` without an operand: no indirect branch may land here.
    None,
    /// `bti c`: calls, and jumps through x16 and x17.
    Call,
    /// `bti j`: jumps.
    Jump,
    /// `bti jc`: both.
    Both,
    /// `paciasp`, `pacibsp` and their like: as `bti c`, or as `bti jc` where SCTLR_EL1.BT0 is clear.
    PacSp,
}

/// An exception that an instruction raises, with its immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trap {
    /// `svc`: a system call.
    Svc(u16),
    /// `brk`: a breakpoint.
    Brk(u16),
    /// `hlt`: halting debug where that is enabled, else undefined.
    Hlt(u16),
    /// `udf`: undefined by definition.
    Udf(u16),
}

/// A condition code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Condition(u8);

impl Condition {
    /// The condition of that code, 0 (`eq`) to 15 (`nv`, which is as `al`).
    pub const fn new(code: u32) -> Condition {
        Condition(code as u8 & 15)
    }
    /// Its code.
    pub const fn code(self) -> u8 {
        self.0
    }
    /// The flags that it depends on.
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
    /// Whether it holds with these flags set (ConditionHolds, Arm ARM J1).
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
