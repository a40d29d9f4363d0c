//! The numbers and bits of the generated tables.
//!
//! insn-gen, which writes the tables, includes this file, so that writer and reader share one definition.
#![allow(dead_code, reason = "names serve insn-gen alone, some numbers insn alone")]

/// Calls a macro with the registers that are in no numbered bank: constant, number in a register set, name.
macro_rules! each_register {
    ($call:ident) => {
        $call! {
            // Reads as zero, and is never a member of a set. Most fields of 31 name it.
            XZR = 31, "xzr";
            FFR = 80, "ffr"; ZA = 81, "za"; ZT0 = 82, "zt0";
            NZCV = 83, "nzcv"; FPSR = 84, "fpsr"; FPCR = 85, "fpcr";
            PC = 86, "pc";
            // Registers that msr, mrs, sys and their like reach and that have no other name here.
            SYSTEM = 87, "system";
            GCSPR = 88, "gcspr"; FPMR = 89, "fpmr"; SVCR = 90, "svcr"; TPIDR = 91, "tpidr_el0";
            SP = 92, "sp";
        }
    };
}
pub(crate) use each_register;

/// The first numbers of the banks of registers in a register set.
pub(crate) mod bank {
    pub(crate) const VECTOR: u8 = 32;
    pub(crate) const PREDICATE: u8 = 64;
}

/// Calls a macro with the ways, which say what becomes of control and where in the word its target is told: variant of `Way`,
/// number, name, variant of `Flow`.
macro_rules! each_way {
    ($call:ident) => {
        $call! {
            /// No instruction.
            Undefined = 0, "undef", Faulting;
            Next = 1, "next", Next;
            /// By 26 bits from bit 0 on.
            Jump = 2, "jump26", Jump;
            Call = 3, "call26", Call;
            /// By 19 bits from bit 5 on.
            If19 = 4, "cond19", ConditionalJump;
            /// By 14 bits from bit 5 on.
            If14 = 5, "cond14", ConditionalJump;
            /// By 9 bits from bit 5 on.
            If9 = 6, "cond9", ConditionalJump;
            /// To the register in bits 9 to 5.
            JumpTo = 7, "jump", Jump;
            CallTo = 8, "call", Call;
            Return = 9, "return", Return;
            /// To x30, which no field names: `retaa` and its like have its number in bits 19 to 15.
            Leave = 10, "leave", Return;
            /// To x30: `retaasppc` and its like have its number in bits 3 to 0, with a 0 behind them.
            LeaveFor = 11, "leavefor", Return;
            Syscall = 12, "syscall", Syscall;
            Trap = 13, "trap", Trap;
            Privileged = 14, "priv", Privileged;
            Faulting = 15, "fault", Faulting;
        }
    };
}
pub(crate) use each_way;

/// Steps of the program that tells ways. The step is in bits 7 to 5 of its first byte; bits 4 to 0 number the bit that is tested.
pub(crate) mod step {
    /// The bit must be clear.
    pub(crate) const CLEAR: u8 = 0;
    /// The bit must be set.
    pub(crate) const SET: u8 = 1;
    /// Goes on elsewhere if the bit is set: two bytes follow.
    pub(crate) const IF_SET: u8 = 2;
    /// Goes on elsewhere if the bit is clear: two bytes follow.
    pub(crate) const IF_CLEAR: u8 = 3;
    /// Goes on elsewhere: bits 4 to 0 are the high bits of the offset, the low byte follows.
    pub(crate) const GO: u8 = 4;
    /// The way is in the low bits.
    pub(crate) const DONE: u8 = 5;
    /// If the bit is set, skips as many bytes as the byte that follows says.
    pub(crate) const SKIP_IF_SET: u8 = 6;
    /// Position of the step in its first byte.
    pub(crate) const POSITION: u32 = 5;
}

/// Positions in the code of a register operand, whose lowest two bits are of [`access`].
pub(crate) mod operand {
    /// Of two bits: one of [`super::registers`].
    pub(crate) const BANK: u32 = 2;
    /// Of five bits: where the field of the register's number begins.
    pub(crate) const POSITION: u32 = 4;
    /// Of three bits: how wide the field is.
    pub(crate) const WIDTH: u32 = 9;
    /// Of two bits: by how many bits the number is shifted to the left.
    pub(crate) const SHIFT: u32 = 12;
    /// Of five bits: what is added to the number.
    pub(crate) const ADD: u32 = 14;
    /// Of four bits: how many registers.
    pub(crate) const COUNT: u32 = 19;
    /// Of four bits: the distance between their numbers.
    pub(crate) const STRIDE: u32 = 23;
}

/// Kinds of registers that an operand names.
pub(crate) mod registers {
    codes! { u32:
        /// General; 31 is xzr.
        GENERAL = 0, "X";
        /// General; 31 is sp.
        GENERAL_OR_SP = 1, "S";
        VECTOR = 2, "V";
        PREDICATE = 3, "P";
    }
}

/// How an operand is used: the numbers of `Access`' variants.
pub(crate) mod access {
    pub(crate) const NONE: u32 = 0;
    pub(crate) const READ: u32 = 1;
    pub(crate) const WRITE: u32 = 2;
    pub(crate) const READ_WRITE: u32 = 3;
}

/// Positions in the code of a memory operand, whose low byte is one of [`mode`].
pub(crate) mod memory {
    /// Of two bits: one of [`super::access`].
    pub(crate) const ACCESS: u32 = 8;
    /// Of ten bits: bytes accessed.
    pub(crate) const SIZE: u32 = 10;
    /// Of four bits: the logarithm of the displacement's unit.
    pub(crate) const UNIT: u32 = 20;
    /// The code of no operand.
    pub(crate) const NONE: u32 = u32::MAX;
}

/// A record of what a word reads and writes: three words, the last of which is the code of its memory operand ([`memory`]).
pub(crate) mod record {
    /// Where the fields begin whose registers the slots tell. A slot has four bits from the lowest on: one of [`super::access`], then one of
    /// [`super::registers`].
    pub(crate) const SLOTS: [u32; 4] = [0, 5, 10, 16];
    /// Six bits: the number of the registers that no field names, one of [`SETS`].
    pub(crate) const SET: u32 = 16;
    pub(crate) const SETS: usize = 64;
    /// Four bits: of NZCV.
    pub(crate) const FLAGS_READ: u32 = 24;
    /// Four bits: of NZCV.
    pub(crate) const FLAGS_WRITTEN: u32 = 28;
    /// In the second word, which begins with the number of the first operand that no slot tells: four bits, the number of these.
    pub(crate) const COUNT: u32 = 16;
    /// Whether the code of a second memory operand follows these operands.
    pub(crate) const TWO_MEMORIES: u32 = 20;
}

/// A node of the tree that leads to a record. It begins with the number of its first item.
pub(crate) mod tree {
    /// Position of the position of its field.
    pub(crate) const POSITION: u32 = 16;
    /// Position of the mask of its field.
    pub(crate) const MASK: u32 = 24;
    /// In an item: the rest is the number of a node, not of a record.
    pub(crate) const NODE: u16 = 0x8000;
}

/// Address modes. Those from [`mode::LITERAL`] on are rare, or need more than a row of a table.
pub(crate) mod mode {
    codes! { u32:
        BASE = 0, "b";
        UNSIGNED12 = 1, "u12";
        SIGNED9 = 2, "s9";
        PRE9 = 3, "pre9";
        POST9 = 4, "post9";
        SIGNED7 = 5, "s7";
        PRE7 = 6, "pre7";
        POST7 = 7, "post7";
        INDEX = 8, "x";
        VECTORS4 = 9, "v4";
        VECTORS6 = 10, "v6";
        ARRAY4 = 11, "za4";
        REPLICATED4 = 12, "r4";
        UNSIGNED6 = 13, "u6";
        SCALAR_INDEX = 14, "sx";
        VECTOR_INDEX = 15, "zx";
        VECTOR_UXTW = 16, "zu";
        VECTOR_SXTW = 17, "zs";
        LITERAL = 18, "l19";
        AT_D = 19, "d";
        AT_M = 20, "m";
        GCS = 21, "gcs";
        GCS_PUSH = 22, "gcspush";
        VECTOR_BASE_INDEX = 23, "zr";
        VECTOR_BASE5 = 24, "z5";
        SIGNED10 = 25, "s10";
        PRE10 = 26, "pre10";
        POST_INDEX = 27, "postm";
        VECTORS9 = 28, "v9";
        POST_SIZE = 29, "up";
        PRE_SIZE = 30, "down";
    }
}

/// No condition, no literal.
pub(crate) const NONE: u8 = u8::MAX;

/// When a combination of fields is CONSTRAINED UNPREDICTABLE.
pub(crate) mod when {
    codes! { u16:
        /// The base register, unless it is sp, is the first register transferred.
        N_IS_T = 1, "n=t";
        /// The base register, unless it is sp, is the second register transferred.
        N_IS_T2 = 1 << 1, "n=t2";
        T_IS_T2 = 1 << 2, "t=t2";
        /// The status register is the first register transferred.
        S_IS_T = 1 << 3, "s=t";
        /// The status register is the second register transferred.
        S_IS_T2 = 1 << 4, "s=t2";
        /// The status register is the base, unless that is sp.
        S_IS_N = 1 << 5, "s=n";
        /// Destination, source and count of a memory copy are not three registers below 31.
        COPY = 1 << 6, "mops";
        /// Destination, value and count of a memory set are not three registers, of which only the value may be 31.
        SET = 1 << 7, "sets";
        ALWAYS = 1 << 8, "always";
    }
}
