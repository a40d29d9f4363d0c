//! The numbers and bits of the generated tables.
//!
//! insn-gen, which writes the tables, includes this file, so that writer and reader share one definition.
#![allow(dead_code, reason = "names serve insn-gen alone, some numbers insn alone")]

/// Calls a macro with the registers that are in no numbered bank: constant, number in a register set, name.
macro_rules! each_register {
    ($call:ident) => {
        $call! {
            RAX = 0, "rax"; RCX = 1, "rcx"; RDX = 2, "rdx"; RBX = 3, "rbx";
            RSP = 4, "rsp"; RBP = 5, "rbp"; RSI = 6, "rsi"; RDI = 7, "rdi";
            ES = 88, "es"; CS = 89, "cs"; SS = 90, "ss"; DS = 91, "ds"; FS = 92, "fs"; GS = 93, "gs";
            RIP = 94, "rip"; FLAGS = 95, "flags";
            MXCSR = 96, "mxcsr"; SSP = 97, "ssp";
            // Control, status, tag and pointer words.
            X87 = 98, "x87";
            PKRU = 99, "pkru"; XCR0 = 100, "xcr0"; FS_BASE = 101, "fs_base"; GS_BASE = 102, "gs_base";
            // Control, debug, test, model-specific and descriptor-table registers: what user code cannot write.
            SYSTEM = 103, "system";
            TILECFG = 112, "tilecfg";
            // Block scales of ACE.
            BSR0 = 113, "bsr0";
        }
    };
}
pub(crate) use each_register;

/// The first numbers of the banks of registers in a register set.
pub(crate) mod bank {
    pub(crate) const VECTOR: u8 = 32;
    pub(crate) const MASK: u8 = 64;
    pub(crate) const MMX: u8 = 72;
    pub(crate) const BOUND: u8 = 80;
    pub(crate) const SEGMENT: u8 = 88;
    pub(crate) const SYSTEM: u8 = 103;
    pub(crate) const TILE: u8 = 104;
}

/// Opcode spaces.
pub(crate) mod space {
    codes! { u8:
        ONE_BYTE = 0, "1";
        TWO_BYTE = 1, "0f";
        M0F38 = 2, "38";
        M0F3A = 3, "3a";
        AMD_3DNOW = 4, "3dn";
        /// The first of VEX maps 1, 2, 3, 5, 7.
        VEX = 5, "v1";
        VEX_MAP2 = 6, "v2";
        VEX_MAP3 = 7, "v3";
        VEX_MAP5 = 8, "v5";
        VEX_MAP7 = 9, "v7";
        /// The first of XOP maps 8, 9, 10.
        XOP = 10, "x8";
        XOP_MAP9 = 11, "x9";
        XOP_MAPA = 12, "xa";
        /// The first of EVEX maps 1 to 7.
        EVEX = 13, "e1";
        EVEX_MAP2 = 14, "e2";
        EVEX_MAP3 = 15, "e3";
        EVEX_MAP4 = 16, "e4";
        EVEX_MAP5 = 17, "e5";
        EVEX_MAP6 = 18, "e6";
        EVEX_MAP7 = 19, "e7";
        /// REX2 map 0, where it differs from the one-byte map.
        REX2 = 20, "r2";
    }
}

/// Flows of forms: the numbers of `Flow`'s variants, and two more.
pub(crate) mod flow {
    codes! { u8:
        NEXT = 0, "";
        JUMP = 1, "jump";
        CONDITIONAL_JUMP = 2, "jcc";
        CALL = 3, "call";
        RETURN = 4, "ret";
        SYSCALL = 5, "syscall";
        INTERRUPT = 6, "int";
        TRAP = 7, "trap";
        FAR = 8, "far";
        TRANSACTION = 9, "tsx";
        PRIVILEGED = 10, "priv";
        FAULTING = 11, "ud";
    }
    /// A jump that is not relative.
    pub(crate) const INDIRECT_JUMP: u8 = 12;
    /// A call that is not relative.
    pub(crate) const INDIRECT_CALL: u8 = 13;
}

/// Fields of the hot tables' entries.
pub(crate) mod entry {
    /// A modrm byte follows: all bits that the modrm table yields.
    pub(crate) const MODRM: u32 = 0x3f;
    /// With REX.W the immediate has eight bytes.
    pub(crate) const IMM64: u32 = 1 << 6;
    /// The immediate exists only for modrm.reg 0 and 1.
    pub(crate) const GROUP3: u32 = 1 << 7;
    /// Position of a byte: the number of immediate bytes.
    pub(crate) const IMMEDIATE: u32 = 8;
    /// A near branch: 66 shortens its distance on AMD only, in 64-bit mode.
    pub(crate) const NEAR: u32 = 1 << 16;
    /// The immediate is an address, of the address size.
    pub(crate) const MOFFS: u32 = 1 << 17;
    /// modrm.mod is ignored: the operand is a register.
    pub(crate) const ANY_MOD: u32 = 1 << 18;
    /// In 64-bit mode and with no mandatory prefix the group decides validity and flow; the next three bits: with 66, F3, F2. Not
    /// set for prefixes, escapes, and opcodes that depend on more than modrm's mod and reg.
    pub(crate) const ALIKE: u32 = 1 << 19;
    /// Not in the tables: introduced by REX2.
    pub(crate) const REX2: u32 = 1 << 23;
    /// A modrm byte follows, as [`MODRM`] says.
    pub(crate) const HAS_MODRM: u32 = 1 << 24;
    /// Position of the byte with the bits of `Insn::shape`, among others.
    pub(crate) const SHAPE: u32 = 17;
    /// Position of the group's number, in the highest bits.
    pub(crate) const GROUP: u32 = 27;

    /// The number of immediate bytes at operand size 2, by that at size 4: of these, numbers of four bytes and far pointers shrink.
    pub(crate) const fn small(immediate: u32) -> u32 {
        immediate - (immediate >> 1 & 2)
    }

    /// Number of groups.
    pub(crate) const GROUPS: usize = 32;
}

/// Bits of keys and of rules, which allow them.
///
/// Each field of an instruction contributes one bit to its key; a rule has the bits that a form allows.
pub(crate) mod key {
    /// Mandatory prefix: none, 66, F3, F2.
    pub(crate) const PP: u32 = 0;
    pub(crate) const W: u32 = 4;
    /// Vector length.
    pub(crate) const L: u32 = 6;
    /// 64-bit mode, other modes.
    pub(crate) const BITS: u32 = 10;
    /// Intel, AMD.
    pub(crate) const VENDOR: u32 = 12;
    pub(crate) const MEM: u64 = 1 << 14;
    pub(crate) const REG: u64 = 1 << 15;
    /// modrm.reg.
    pub(crate) const EXT: u32 = 16;
    /// modrm.rm.
    pub(crate) const RM: u32 = 24;
    /// vvvv and V' unused, only V' used, vvvv used; in legacy spaces: B clear, B set.
    pub(crate) const V: u32 = 32;
    /// aaa = 0, 4, other.
    pub(crate) const AAA: u32 = 35;
    /// z = 0, z with a mask, z without.
    pub(crate) const Z: u32 = 38;
    /// b = 0, b with memory, b with a register.
    pub(crate) const B: u32 = 41;
    pub(crate) const LOCK_MEM: u64 = 1 << 44;
    pub(crate) const LOCK_REG: u64 = 1 << 45;
    /// A strict mode.
    pub(crate) const STRICT: u64 = 1 << 56;
    /// In keys of strict modes: a field that no rule allows.
    pub(crate) const RESERVED: u64 = 1 << 57;
    /// b with a register where it means nothing, which lenient modes ignore.
    pub(crate) const IGNORED_B: u64 = 1 << 58;
    /// 66 beside the F2 or F3 that selects the form, in legacy spaces.
    pub(crate) const WITH_66: u64 = 1 << 60;
    /// All bits of keys.
    pub(crate) const ALL: u64 = ((1 << 46) - 1) | STRICT | RESERVED | IGNORED_B | WITH_66;
}

/// Fields of a rule beside the key's bits.
pub(crate) mod rule {
    /// Position of two bits: the immediate, one of [`immediate`].
    pub(crate) const IMMEDIATE: u32 = 46;
    /// Position of four bits: one of [`super::flow`].
    pub(crate) const FLOW: u32 = 48;
    /// Position of four bits: one of [`check`].
    pub(crate) const CHECK: u32 = 52;
    /// The rule matches and is refused: a hole in a wider form.
    pub(crate) const REFUSED: u64 = 1 << 59;

    /// Immediates of VEX, XOP and EVEX forms, and of `extrq` and `insertq`.
    pub(crate) mod immediate {
        pub(crate) const NONE: u8 = 0;
        pub(crate) const BYTE: u8 = 1;
        /// 2 or 4 bytes, by the operand size.
        pub(crate) const OPERAND_SIZE: u8 = 2;
        pub(crate) const TWO_BYTES: u8 = 3;
    }

    /// What a rule demands of registers.
    pub(crate) mod check {
        pub(crate) const NONE: u8 = 0;
        /// Destination, index and mask must differ.
        pub(crate) const VEX_GATHER: u8 = 1;
        /// Destination and index must differ.
        pub(crate) const EVEX_GATHER: u8 = 2;
        /// Three tiles, below 8, must differ.
        pub(crate) const TILES: u8 = 3;
        /// The destination must differ from the sources.
        pub(crate) const SOURCES: u8 = 4;
        /// modrm.reg must be below 8; some processors ignore its fourth bit.
        pub(crate) const MASK: u8 = 5;
        /// modrm.reg and vvvv must be below 8; some processors ignore the fourth bits.
        pub(crate) const MASKS: u8 = 6;
        /// A tile in modrm.reg or modrm.rm must be below 8.
        pub(crate) const TILE_ROWS: u8 = 7;
        /// modrm.reg must be below 8.
        pub(crate) const LOW: u8 = 8;
        /// Neither register may be rsp, and they must differ.
        pub(crate) const POP2: u8 = 9;
        /// Neither register may be rsp.
        pub(crate) const PUSH2: u8 = 10;
    }
}

/// The way to choose the form of an instruction among those of its opcode. It is in the high bits of an opcode's entry.
pub(crate) mod select {
    /// Position of the three bits. The bits below are the index of the opcode's first form.
    pub(crate) const POSITION: u32 = 13;
    /// The opcode has one form.
    pub(crate) const ONE: u16 = 0;
    /// The opcode has one form for each value of modrm.reg.
    pub(crate) const EXTENSION: u16 = 1;
    /// The opcode has one form for memory, and one for a register in modrm.rm.
    pub(crate) const MODE: u16 = 2;
    /// The opcode has one form for each mandatory prefix.
    pub(crate) const PREFIX: u16 = 3;
    /// The opcode has one form for each value of W.
    pub(crate) const W: u16 = 4;
    /// The opcode has one form for each of its rules.
    pub(crate) const RULE: u16 = 5;
}

/// The layout of the three words of a stored form.
pub(crate) mod form {
    /// Number of words.
    pub(crate) const LEN: usize = 3;
    /// Index of the word with four codes of operands, 16 bits each ([`super::operand`]).
    pub(crate) const OPERANDS: usize = 0;
    /// Index of the word with access and size of the memory operand, its scale, and the attributes.
    pub(crate) const MEMORY: usize = 1;
    /// Position of the scale.
    pub(crate) const SCALE: u32 = 16;
    /// Position of the attributes ([`super::attr`]).
    pub(crate) const ATTRIBUTES: u32 = 32;
    /// Index of the word of numbers.
    pub(crate) const NUMBERS: usize = 2;
    /// Position of the number of the set of implicit registers that the form reads.
    pub(crate) const READ: u32 = 0;
    /// Position of the number of the set that it writes.
    pub(crate) const WRITTEN: u32 = 8;
    /// Position of the number of the set that it overwrites; an SSE form overwrites bits 127:0 of the vector registers in it.
    pub(crate) const OVERWRITTEN: u32 = 16;
    /// Position of the number of the set that it overwrites if the operand size is 2.
    pub(crate) const OVERWRITTEN_BY_WORD: u32 = 24;
    /// Position of the number of the flags.
    pub(crate) const FLAGS: u32 = 32;
    /// Position of one of [`super::implicit`].
    pub(crate) const IMPLICIT_MEMORY: u32 = 40;
}

/// Bits and positions in the code of an operand that is a register, or an element of a string.
pub(crate) mod operand {
    /// Three bits: one of [`super::source`].
    pub(crate) const SOURCE: u16 = 7;
    /// Position of three bits: one of [`super::register_bank`].
    pub(crate) const BANK: u32 = 3;
    /// The operand is a register only if modrm.rm names one.
    pub(crate) const REGISTER_FORM: u16 = 0x40;
    /// Names a byte register.
    pub(crate) const BYTE: u16 = 0x100;
    /// Position of two bits: one of [`super::access`].
    pub(crate) const ACCESS: u32 = 9;
    /// The operand has the operand size. If that is 2, a register keeps its other bits.
    pub(crate) const SIZED: u16 = 0x800;
    /// Position of two bits: the binary logarithm of the number of aligned registers.
    pub(crate) const COUNT: u32 = 12;
    /// The operand is an element of a string at rsi.
    pub(crate) const SOURCE_STRING: u16 = 0x4000;
    /// The operand is an element of a string at rdi.
    pub(crate) const DESTINATION_STRING: u16 = 0x8000;
}

/// The field of the instruction that has a register's number.
pub(crate) mod source {
    /// No field: the operand is no register.
    pub(crate) const NONE: u16 = 0;
    /// modrm.reg with its extension bits.
    pub(crate) const REG: u16 = 1;
    /// modrm.reg with the extension bits of a vector register.
    pub(crate) const REG_VECTOR: u16 = 2;
    /// modrm.rm, or the opcode's low three bits, with the extension bits.
    pub(crate) const RM: u16 = 3;
    /// modrm.rm with the extension bits of a vector register.
    pub(crate) const RM_VECTOR: u16 = 4;
    pub(crate) const VVVV: u16 = 5;
    /// The upper half of the immediate byte.
    pub(crate) const IMMEDIATE: u16 = 6;
    /// Number of values, with room to spare.
    pub(crate) const LEN: usize = 8;
}

/// The banks of registers.
pub(crate) mod register_bank {
    pub(crate) const GENERAL: u16 = 0;
    pub(crate) const VECTOR: u16 = 1;
    pub(crate) const MASK: u16 = 2;
    pub(crate) const MMX: u16 = 3;
    pub(crate) const BOUND: u16 = 4;
    pub(crate) const SEGMENT: u16 = 5;
    pub(crate) const TILE: u16 = 6;
    pub(crate) const SYSTEM: u16 = 7;
}

/// Positions in the code of a memory operand: the low byte is its size.
pub(crate) mod memory {
    /// Of two bits: one of [`super::access`].
    pub(crate) const ACCESS: u32 = 8;
    /// In the second code, whose low byte is a broadcast element's size: the scale of disp8.
    pub(crate) const SCALE: u32 = 8;
}

/// How an operand is used: the numbers of `Access`' variants.
pub(crate) mod access {
    pub(crate) const NONE: u16 = 0;
    pub(crate) const READ: u16 = 1;
    pub(crate) const WRITE: u16 = 2;
    pub(crate) const READ_WRITE: u16 = 3;
}

/// Sizes of memory operands that depend on the instruction. Smaller codes are a size in bytes.
pub(crate) mod size {
    /// The first of them.
    pub(crate) const FIRST: u8 = 0x80;
    codes! { u8:
        /// The operand size.
        V = 0x80, "v";
        /// The operand size, at most 4.
        Z = 0x81, "z";
        /// 4, or 8 with W.
        Y = 0x82, "y";
        /// A far pointer.
        P = 0x83, "p";
        /// A descriptor table register.
        S = 0x84, "s";
        /// Two of the operand size.
        A = 0x85, "a";
        /// The vector length.
        X = 0x86, "x";
        /// Half the vector length.
        H = 0x87, "h";
        /// A quarter of the vector length.
        F = 0x88, "f";
        /// An eighth of the vector length.
        E = 0x89, "e";
        /// The x87 environment.
        N = 0x8a, "n";
        /// The x87 state.
        K = 0x8b, "k";
        /// Twice 4, or twice 8 with W.
        J = 0x8c, "j";
        /// 4, or 2 on Intel with operand size 2.
        M = 0x8d, "m";
        /// 512 bytes.
        FXSAVE = 0x8e, "512";
    }
}

/// Kinds of implicit memory access.
pub(crate) mod implicit {
    codes! { u8:
        PUSH = 1, "push";
        POP = 2, "pop";
        PUSH_FAR = 3, "pushfar";
        POP_FAR = 4, "popfar";
        PUSHA = 5, "pusha";
        POPA = 6, "popa";
        LEAVE = 7, "leave";
        IRET = 8, "iret";
        PUSH2 = 9, "push2";
        POP2 = 10, "pop2";
        XLAT = 11, "xlat";
        MASKMOV = 12, "maskmov";
        MASKMOV_MMX = 13, "maskmov8";
        CLZERO = 14, "clzero";
        MOVDIR64B = 15, "dst64";
    }
}

/// Attributes of a form.
pub(crate) mod attr {
    /// Reads the flags of the condition in the opcode's low bits.
    pub(crate) const CONDITION: u32 = 1;
    /// Repeated by F2 and F3.
    pub(crate) const REP: u32 = 2;
    /// Operand size 64 by default in 64-bit mode.
    pub(crate) const DEFAULT_64: u32 = 4;
    /// Operand size 64 always in 64-bit mode.
    pub(crate) const FORCE_64: u32 = 8;
    /// Byte operands.
    pub(crate) const BYTE: u32 = 0x10;
    /// Masked by aaa.
    pub(crate) const MASK: u32 = 0x20;
    /// Masked by aaa, and the mask is cleared as the instruction goes on.
    pub(crate) const MASK_CLEARED: u32 = 0x40;
    /// The index of the memory operand is a vector register.
    pub(crate) const VECTOR_INDEX: u32 = 0x80;
    /// NF suppresses the flags.
    pub(crate) const NF: u32 = 0x100;
    /// Conditional by SCC (`ccmp`, `ctest`).
    pub(crate) const SCC: u32 = 0x200;
    /// disp8 is scaled.
    pub(crate) const SCALED: u32 = 0x400;
    /// The destination is a vector register, in which masking merges.
    pub(crate) const MERGES: u32 = 0x800;
    /// modrm.rm names a vector register.
    pub(crate) const VECTOR_RM: u32 = 0x1000;
    /// The flags are an image of the operand size in memory.
    pub(crate) const IMAGE: u32 = 0x4000;
    /// The form keeps the flags if its count is 0.
    pub(crate) const COUNT: u32 = 0x8000;
    /// A register that the form writes and does not read keeps some of its bits.
    pub(crate) const PART: u32 = 0x1_0000;
    /// The form does nothing with its operand.
    pub(crate) const NOTHING: u32 = 0x2_0000;
    /// The form zero-extends its destination, whatever the size.
    pub(crate) const ZERO_UPPER: u32 = 0x4_0000;
    /// As [`PART`], if the source is a register.
    pub(crate) const PART_OF_REGISTER: u32 = 0x8_0000;
}

/// The layout of a record of common effects, one word; 0 if a record cannot tell them. The comments of its parts give a number of bits.
pub(crate) mod common {
    /// Position of a byte: how modrm.reg is used as a register ([`usage`]).
    pub(crate) const REG: u32 = 0;
    /// Position of a byte: how modrm.rm, or the opcode's low bits, are used as a register; in records of memory forms as the base of an address.
    pub(crate) const RM: u32 = 8;
    /// Position of a byte: [`usage::INDEX`] if the form reads the index of an address.
    pub(crate) const INDEX: u32 = 16;
    /// The form computes an address, which may be relative to rip. The bit is that of rip in the high word of a set.
    pub(crate) const RIP: u32 = 1 << 30;
    /// Five bits: the number of the sizes, which are the operand sizes for 2, 4 and 8 by prefixes, a byte each, and from [`MEMORY_SIZES`] on
    /// those of memory.
    pub(crate) const SIZES: u32 = 32;
    /// The number of such sizes, with room to spare.
    pub(crate) const SIZES_LEN: usize = 32;
    /// Seven bits: the number of the sets of registers that the form reads and writes and no field names.
    pub(crate) const IMPLIED: u32 = 37;
    /// The number of such sets, with room to spare.
    pub(crate) const SETS: usize = 128;
    /// Two bits: the access to the memory operand, one of [`super::access`].
    pub(crate) const ACCESS: u32 = 44;
    /// Two bits: the access to the stack, one of [`implicit`].
    pub(crate) const STACK: u32 = 46;
    /// The form has a memory operand in modrm.
    pub(crate) const IN_MEMORY: u64 = 1 << 48;
    /// The form keeps the flags if its count is 0.
    pub(crate) const COUNT: u64 = 1 << 49;
    /// Vendors differ if there is a prefix 66. The record is Intel's.
    pub(crate) const VENDOR: u64 = 1 << 50;
    /// The form does not use the segment of the memory operand.
    pub(crate) const NO_SEGMENT: u64 = 1 << 51;
    /// Six bits: the number of the sets of registers that the form overwrites and no field names.
    pub(crate) const WHOLE: u32 = 52;
    /// The number of such sets, with room to spare.
    pub(crate) const WHOLES: usize = 64;
    /// Six bits, the highest: the number of the flags.
    pub(crate) const FLAGS: u32 = 58;
    /// The position of the sizes of memory.
    pub(crate) const MEMORY_SIZES: u32 = 32;
    /// The number of `Reg::FLAGS`.
    pub(crate) const FLAGS_REGISTER: u32 = 95;

    /// Accesses to the stack.
    pub(crate) mod implicit {
        pub(crate) const NONE: u8 = 0;
        pub(crate) const PUSH: u8 = 1;
        pub(crate) const POP: u8 = 2;
        pub(crate) const LEAVE: u8 = 3;
    }

    /// Bits of the byte that tells how a register is used.
    pub(crate) mod usage {
        /// Overwritten in whole.
        pub(crate) const WHOLE: u8 = 1;
        /// Overwritten in whole behind a prefix 66 without REX.W.
        pub(crate) const WHOLE_BY_WORD: u8 = 2;
        /// The highest bits, which with the register's number select a place in a table.
        pub(crate) const SELECTING: u8 = 0xf0;
        pub(crate) const READ: u8 = 0x10;
        pub(crate) const WRITTEN: u8 = 0x20;
        /// A vector register, not a general one.
        pub(crate) const VECTOR: u8 = 0x40;
        /// A byte register, of which numbers 4 to 7 are ah to bh.
        pub(crate) const BYTE: u8 = 0x80;
        /// The index of an address, of which number 4 is none. No register is used as a vector register without access.
        pub(crate) const INDEX: u8 = VECTOR;
        /// With any access: no register.
        pub(crate) const NONE: u8 = VECTOR | BYTE;
    }

    /// The field that chooses the record among those of an opcode, or several fields side by side. An entry has the start of the records in
    /// the low half.
    pub(crate) mod select {
        /// Position of the field's mask in an entry.
        pub(crate) const MASK: u32 = 16;
        /// Position of the field's position in an entry.
        pub(crate) const POSITION: u32 = 24;
        /// Positions of fields in the word that they make: after modrm's rm and reg, whether modrm names a register.
        pub(crate) const IS_REGISTER: u32 = 6;
        /// The mandatory prefix.
        pub(crate) const PP: u32 = 7;
        /// `Insn::ext`, which begins with REX.B.
        pub(crate) const EXT: u32 = 9;
    }
}
