/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT */

#ifndef NTRACE_H
#define NTRACE_H

/* libntrace: instruction analysis, and stepping over breakpoints. `cargo xtask gen` makes this file of capi/src. See libntrace(3). */

#include <stddef.h>
#include <stdint.h>

/*
 Numbers of registers. x0 to x30 have their own, 31 is xzr; v0 to v31 begin at 32, predicates at 64.
 */
#define NTRACE_A64_PC 86

/*
 The stack pointer.
 */
#define NTRACE_A64_SP 92

/*
 The flags, in bits 31 to 28.
 */
#define NTRACE_A64_NZCV 83

/*
 The pointer of the guarded control stack.
 */
#define NTRACE_A64_GCSPR 88

/*
 Number of bytes of a slot.
 */
#define NTRACE_SLOT_SIZE 32

/*
 The most places in a slot.
 */
#define NTRACE_MOST_PLACES 5

/*
 Mode: a code segment of 16 bits.
 */
#define NTRACE_X86_16 0

/*
 Mode: a code segment of 32 bits.
 */
#define NTRACE_X86_32 1

/*
 Mode: 64-bit code.
 */
#define NTRACE_X86_64 2

/*
 Mode: the processor is AMD's, where the vendors differ; else it is Intel's.
 */
#define NTRACE_X86_AMD 4

/*
 Mode: reserved bits that some of the vendor's processors ignore are ignored.
 */
#define NTRACE_X86_LENIENT 8

/*
 Numbers of registers. The general registers have the processor's: rax 0, rcx 1, rdx 2, rbx 3, rsp 4, rbp 5, rsi 6, rdi 7, r8 to r31. Vector
 registers begin at 32, mask registers at 64; es, cs, ss, ds, fs and gs at 88.
 */
#define NTRACE_X86_RIP 94

/*
 The flags.
 */
#define NTRACE_X86_FLAGS 95

/*
 The shadow stack pointer.
 */
#define NTRACE_X86_SSP 97

/*
 The bases of fs and gs.
 */
#define NTRACE_X86_FS_BASE 101

#define NTRACE_X86_GS_BASE 102

/*
 What the functions return. Values below 0 are errors.
 */
enum ntrace_status {
    /*
     The function did what it says.
     */
    NTRACE_STATUS_OK = 0,
    /*
     The bytes end before the instruction does.
     */
    NTRACE_STATUS_TRUNCATED = -1,
    /*
     The bytes are no instruction.
     */
    NTRACE_STATUS_INVALID = -2,
    /*
     No breakpoint can stand at the instruction (struct ntrace_plan has the reason), or the slot cannot be where it is asked for.
     */
    NTRACE_STATUS_REFUSED = -3,
    /*
     The instruction faults: struct ntrace_thread has the address. No register has changed.
     */
    NTRACE_STATUS_FAULT = -4,
    /*
     A pointer is NULL, or a number is out of range.
     */
    NTRACE_STATUS_ARGUMENT = -5,
};

/*
 What an instruction does to the flow of control.
 */
enum ntrace_flow {
    /*
     It continues with the next instruction, or faults.
     */
    NTRACE_FLOW_NEXT = 0,
    /*
     A near unconditional jump.
     */
    NTRACE_FLOW_JUMP = 1,
    /*
     A near conditional jump or a loop.
     */
    NTRACE_FLOW_CONDITIONAL_JUMP = 2,
    /*
     A near call.
     */
    NTRACE_FLOW_CALL = 3,
    /*
     A near return.
     */
    NTRACE_FLOW_RETURN = 4,
    /*
     A system call: syscall, sysenter; svc.
     */
    NTRACE_FLOW_SYSCALL = 5,
    /*
     A software interrupt: int n, into.
     */
    NTRACE_FLOW_INTERRUPT = 6,
    /*
     A breakpoint: int3, int1; brk, hlt.
     */
    NTRACE_FLOW_TRAP = 7,
    /*
     It changes the code segment: far jumps, calls and returns, iret.
     */
    NTRACE_FLOW_FAR = 8,
    /*
     It begins, aborts or ends a transaction.
     */
    NTRACE_FLOW_TRANSACTION = 9,
    /*
     It faults in user mode, because it needs a privilege.
     */
    NTRACE_FLOW_PRIVILEGED = 10,
    /*
     It faults by definition: ud2; udf.
     */
    NTRACE_FLOW_FAULTING = 11,
    /*
     Something else, which this version of the header does not know.
     */
    NTRACE_FLOW_OTHER = 255,
};

/*
 What the bytes tell of a branch's target.
 */
enum ntrace_target {
    /*
     There is none.
     */
    NTRACE_TARGET_NONE = 0,
    /*
     An address.
     */
    NTRACE_TARGET_ADDRESS = 1,
    /*
     The value of a register.
     */
    NTRACE_TARGET_REGISTER = 2,
    /*
     The memory operand has it.
     */
    NTRACE_TARGET_MEMORY = 3,
    /*
     The stack has it.
     */
    NTRACE_TARGET_STACK = 4,
};

/*
 The ways to pass a breakpoint.
 */
enum ntrace_plan_kind {
    /*
     ntrace_x86_emulate or ntrace_a64_emulate does what the instruction does.
     */
    NTRACE_PLAN_KIND_EMULATE = 0,
    /*
     The thread executes a copy of the instruction in a slot.
     */
    NTRACE_PLAN_KIND_SLOT = 1,
    /*
     No breakpoint can stand here.
     */
    NTRACE_PLAN_KIND_REFUSE = 2,
};

/*
 How a thread leaves a slot.
 */
enum ntrace_slot_exit {
    /*
     By itself: no trap follows.
     */
    NTRACE_SLOT_EXIT_JUMP = 0,
    /*
     By the breakpoint instruction at `exit_offset`. The thread continues at the place of that offset.
     */
    NTRACE_SLOT_EXIT_TRAP = 1,
    /*
     By one single step. The thread continues at the place where the step ended, or where the instruction went.
     */
    NTRACE_SLOT_EXIT_STEP = 2,
    /*
     As NTRACE_SLOT_EXIT_STEP; then the caller writes the address of the next instruction to the top of the stack, in `exit_size` bytes.
     */
    NTRACE_SLOT_EXIT_STEP_THEN_RETURN_ADDRESS = 3,
};

/*
 What an emulation left to do.
 */
enum ntrace_emulation {
    /*
     The thread continues at its new pc.
     */
    NTRACE_EMULATION_DONE = 0,
    /*
     As NTRACE_EMULATION_DONE, and the thread gets the trap of a single step first.
     */
    NTRACE_EMULATION_SINGLE_STEP = 1,
    /*
     The instruction is a breakpoint of the program's own: the thread gets its signal.
     */
    NTRACE_EMULATION_BREAKPOINT = 2,
    /*
     The thread executes the slot instead. No register has changed.
     */
    NTRACE_EMULATION_IN_SLOT = 3,
};

/*
 An instruction.
 */
struct ntrace_a64_insn {
    /*
     Where a branch goes, if `target_kind` is NTRACE_TARGET_ADDRESS.
     */
    uint64_t address;
    /*
     The registers that are read, as bits by their numbers: 0 to 63, and 64 to 127.
     */
    uint64_t reads[2];
    /*
     The registers of which something may be written.
     */
    uint64_t writes[2];
    /*
     enum ntrace_flow.
     */
    uint8_t flow;
    /*
     enum ntrace_target.
     */
    uint8_t target_kind;
    /*
     The register that has the target (NTRACE_TARGET_REGISTER).
     */
    uint8_t target_register;
};

/*
 How threads pass a breakpoint on an instruction.
 */
struct ntrace_plan {
    /*
     enum ntrace_plan_kind.
     */
    uint8_t kind;
    /*
     Why there is none, of NTRACE_PLAN_KIND_REFUSE: a number of the architecture's, counted from 1. docs/limitations.md has the reasons.
     */
    uint8_t refusal;
};

/*
 What an address in a slot stands for.
 */
struct ntrace_place {
    /*
     The pc of the program.
     */
    uint64_t pc;
    /*
     The value of the register `register_number`, where `has_register` is 1: a thread that continues at `pc` has it.
     */
    uint64_t value;
    /*
     Bytes from the slot's start.
     */
    uint8_t offset;
    /*
     1 where the instruction is done.
     */
    uint8_t is_done;
    /*
     1 where `register_number` and `value` are meant.
     */
    uint8_t has_register;
    /*
     A register's number.
     */
    uint8_t register_number;
};

/*
 The code of a slot.
 */
struct ntrace_slot {
    /*
     What to write to the slot.
     */
    uint8_t bytes[NTRACE_SLOT_SIZE];
    /*
     Where a thread can be that stops in the slot.
     */
    struct ntrace_place places[NTRACE_MOST_PLACES];
    /*
     The value of `scratch_register` while the thread is in the slot, where `has_scratch` is 1. The caller puts the register back.
     */
    uint64_t scratch_value;
    /*
     Bytes of code. Breakpoint instructions fill the rest.
     */
    uint8_t length;
    /*
     Number of `places`.
     */
    uint8_t place_count;
    /*
     enum ntrace_slot_exit.
     */
    uint8_t exit;
    /*
     Offset of the breakpoint instruction by which the thread leaves (NTRACE_SLOT_EXIT_TRAP).
     */
    uint8_t exit_offset;
    /*
     Bytes of the return address (NTRACE_SLOT_EXIT_STEP_THEN_RETURN_ADDRESS).
     */
    uint8_t exit_size;
    /*
     1 where a register has to be loaded before the thread enters.
     */
    uint8_t has_scratch;
    /*
     A register's number.
     */
    uint8_t scratch_register;
};

/*
 A thread at a breakpoint, with functions of the caller that read and change it. Each gets `context`.
 */
struct ntrace_thread {
    /*
     Handed to the functions.
     */
    void *context;
    /*
     The value of a register, by its number. The flags are a register too.
     */
    uint64_t (*get)(void *context, uint8_t number);
    /*
     Sets a register, by its number.
     */
    void (*set)(void *context, uint8_t number, uint64_t value);
    /*
     Fills the buffer from the address on. Returns the number of bytes that can be read.
     */
    size_t (*read)(void *context, uint64_t address, uint8_t *buffer, size_t size);
    /*
     Writes the bytes at the address. Returns the number of bytes that can be written, and writes none if not all can.
     */
    size_t (*write)(void *context, uint64_t address, const uint8_t *bytes, size_t size);
    /*
     Kind of the indirect branch that led to the instruction, 0 to 3 (BTYPE of A64). The emulation changes it.
     */
    uint8_t branch_type;
    /*
     1 where the instruction lies in a guarded page (BTI of A64).
     */
    uint8_t is_guarded;
    /*
     1 where the thread has a shadow stack (x86) or a guarded control stack (A64), which `write` writes.
     */
    uint8_t has_shadow_stack;
    /*
     Bits of a linear address of x86: 48 or 57; 0 is 48.
     */
    uint8_t address_bits;
    /*
     1 where APX is enabled (x86).
     */
    uint8_t has_apx;
    /*
     The address of a fault (NTRACE_STATUS_FAULT): where memory cannot be accessed, or the branch target that is none.
     */
    uint64_t fault_address;
};

/*
 An instruction. Offsets count bytes from its start, and 0 is none.
 */
struct ntrace_x86_insn {
    /*
     Where a branch goes, if `target_kind` is NTRACE_TARGET_ADDRESS; the address of a rip-relative operand, if `is_rip_relative` is 1.
     */
    uint64_t address;
    /*
     The registers that are read, as bits by their numbers: 0 to 63, and 64 to 127.
     */
    uint64_t reads[2];
    /*
     The registers of which something may be written.
     */
    uint64_t writes[2];
    /*
     The bits of the flags register that are read.
     */
    uint32_t flags_read;
    /*
     The bits of the flags register that may change.
     */
    uint32_t flags_written;
    /*
     Length in bytes.
     */
    uint8_t length;
    /*
     enum ntrace_flow.
     */
    uint8_t flow;
    /*
     enum ntrace_target.
     */
    uint8_t target_kind;
    /*
     The register that has the target (NTRACE_TARGET_REGISTER).
     */
    uint8_t target_register;
    /*
     The opcode's last byte.
     */
    uint8_t opcode;
    /*
     The opcode map: 0 one byte, 1 0F, 2 0F38, 3 0F3A, 4 to 7 EVEX's, 8 to 10 XOP's, 15 3DNow.
     */
    uint8_t map;
    /*
     Offset of the opcode.
     */
    uint8_t opcode_offset;
    /*
     Offset of the modrm byte.
     */
    uint8_t modrm_offset;
    /*
     Offset and size of the displacement.
     */
    uint8_t displacement_offset;
    uint8_t displacement_size;
    /*
     Offset and size of the first immediate.
     */
    uint8_t immediate_offset;
    uint8_t immediate_size;
    /*
     Sizes in bytes.
     */
    uint8_t operand_size;
    uint8_t address_size;
    /*
     1 where the memory operand is relative to the next instruction.
     */
    uint8_t is_rip_relative;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Decodes the word at `pc`.

 Returns NTRACE_STATUS_OK, NTRACE_STATUS_INVALID, or NTRACE_STATUS_ARGUMENT.

 The caller vouches for this:
 `insn` is null or points to a structure.
 */
int32_t ntrace_a64_decode(uint32_t word, uint64_t pc, struct ntrace_a64_insn *insn);

/*
 Writes the mnemonic of the word to `buffer`, cut to `capacity` bytes with the NUL. Returns the mnemonic's length without the NUL, 0 where
 there is none; 32 bytes are always enough.

 The caller vouches for this:
 `buffer` is null or points to `capacity` bytes.
 */
size_t ntrace_a64_mnemonic(uint32_t word,
                           char *buffer,
                           size_t capacity);

/*
 How a thread passes a breakpoint on the word `index` of `code`, which lies at `pc`. `code` has `count` words of the program's own, best 64 on
 both sides: exclusive sequences are found in them.

 Returns NTRACE_STATUS_OK, NTRACE_STATUS_REFUSED where the plan is NTRACE_PLAN_KIND_REFUSE, NTRACE_STATUS_INVALID, or NTRACE_STATUS_ARGUMENT.

 The caller vouches for this:
 `code` is null or points to `count` words, and `told` is null or points to a structure.
 */
int32_t ntrace_a64_plan(const uint32_t *code,
                        size_t count,
                        size_t index,
                        uint64_t pc,
                        struct ntrace_plan *told);

/*
 The code of a slot at `at`, a multiple of 4, for the word `index` of `code`, also of an instruction that is emulated. A slot within 128 MiB
 of `pc` needs a trap or a step less often.

 Returns NTRACE_STATUS_OK, NTRACE_STATUS_REFUSED, NTRACE_STATUS_INVALID, or NTRACE_STATUS_ARGUMENT.

 The caller vouches for this:
 `code` is null or points to `count` words, and `slot` is null or points to a structure.
 */
int32_t ntrace_a64_slot(const uint32_t *code,
                        size_t count,
                        size_t index,
                        uint64_t pc,
                        uint64_t at,
                        struct ntrace_slot *slot);

/*
 Does what the word `index` of `code` does, by the functions of `thread`. The registers have the numbers that ntrace.h lists.

 Returns a value of enum ntrace_emulation, NTRACE_STATUS_FAULT, NTRACE_STATUS_REFUSED where the plan is not NTRACE_PLAN_KIND_EMULATE, NTRACE_STATUS_INVALID, or
 NTRACE_STATUS_ARGUMENT. After NTRACE_STATUS_FAULT the thread steps over the instruction in its slot, so that the processor raises the fault.

 The caller vouches for this:
 `code` is null or points to `count` words. `thread` is null or points to a structure whose functions keep within the buffers that they get.
 */
int32_t ntrace_a64_emulate(const uint32_t *code,
                           size_t count,
                           size_t index,
                           uint64_t pc,
                           struct ntrace_thread *thread);

/*
 Decodes the instruction at `pc`, of which `code` has `size` bytes; 15 are always enough.

 Returns NTRACE_STATUS_OK, NTRACE_STATUS_TRUNCATED, NTRACE_STATUS_INVALID, or NTRACE_STATUS_ARGUMENT.

 The caller vouches for this:
 `code` is null or points to `size` bytes, and `insn` is null or points to a structure.
 */
int32_t ntrace_x86_decode(const uint8_t *code, size_t size, uint32_t mode, uint64_t pc, struct ntrace_x86_insn *insn);

/*
 Writes the mnemonic of the instruction to `buffer`, cut to `capacity` bytes with the NUL. Returns the mnemonic's length without the NUL, 0
 where there is none; 32 bytes are always enough.

 The caller vouches for this:
 `code` is null or points to `size` bytes, and `buffer` is null or points to `capacity` bytes.
 */
size_t ntrace_x86_mnemonic(const uint8_t *code,
                           size_t size,
                           uint32_t mode,
                           char *buffer,
                           size_t capacity);

/*
 How a thread passes a breakpoint on the instruction at `pc`.

 Returns NTRACE_STATUS_OK, NTRACE_STATUS_REFUSED where the plan is NTRACE_PLAN_KIND_REFUSE, or the errors of ntrace_x86_decode.

 The caller vouches for this:
 `code` is null or points to `size` bytes, and `told` is null or points to a structure.
 */
int32_t ntrace_x86_plan(const uint8_t *code,
                        size_t size,
                        uint32_t mode,
                        uint64_t pc,
                        struct ntrace_plan *told);

/*
 The code of a slot at `at` for the instruction at `pc`, also of an instruction that is emulated. The slot and the 16 bytes behind it have
 to be within one mapping that the thread can execute. A slot within 2 GiB of `pc` needs a trap or a step less often.

 Returns NTRACE_STATUS_OK, NTRACE_STATUS_REFUSED, or the errors of ntrace_x86_decode.

 The caller vouches for this:
 `code` is null or points to `size` bytes, and `slot` is null or points to a structure.
 */
int32_t ntrace_x86_slot(const uint8_t *code,
                        size_t size,
                        uint32_t mode,
                        uint64_t pc,
                        uint64_t at,
                        struct ntrace_slot *slot);

/*
 Does what the instruction at `pc` does, by the functions of `thread`. The registers have the numbers that ntrace.h lists.

 Returns a value of enum ntrace_emulation, NTRACE_STATUS_FAULT, NTRACE_STATUS_REFUSED where the plan is not NTRACE_PLAN_KIND_EMULATE, or the errors of
 ntrace_x86_decode. After NTRACE_STATUS_FAULT the thread steps over the instruction in its slot, so that the processor raises the fault.

 The caller vouches for this:
 `code` is null or points to `size` bytes. `thread` is null or points to a structure whose functions keep within the buffers that they get.
 */
int32_t ntrace_x86_emulate(const uint8_t *code,
                           size_t size,
                           uint32_t mode,
                           uint64_t pc,
                           struct ntrace_thread *thread);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* NTRACE_H */
