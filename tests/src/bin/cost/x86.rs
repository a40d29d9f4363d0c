//! Loops whose first instruction is measured: x86-64.

use std::arch::global_asm;

use insn::x86::Reg;

global_asm!(
    ".pushsection .text",
    ".globl cost_nop",
    ".type cost_nop, @function",
    "cost_nop: nop",
    "dec rdi",
    "jnz cost_nop",
    "ret",
    ".globl cost_push",
    ".type cost_push, @function",
    "cost_push: push rbx",
    "pop rbx",
    "dec rdi",
    "jnz cost_push",
    "ret",
    ".globl cost_add",
    ".type cost_add, @function",
    "cost_add: add rax, 1",
    "dec rdi",
    "jnz cost_add",
    "ret",
    ".globl cost_load",
    ".type cost_load, @function",
    "cost_load: mov rax, [rip + cost_nop]",
    "dec rdi",
    "jnz cost_load",
    "ret",
    ".globl cost_call",
    ".type cost_call, @function",
    "cost_call: call 2f",
    "dec rdi",
    "jnz cost_call",
    "2: ret",
    ".globl cost_trap",
    ".type cost_trap, @function",
    "cost_trap: int3",
    "dec rdi",
    "jnz cost_trap",
    "ret",
    ".popsection",
);

unsafe extern "C" {
    fn cost_trap(hits: u64);
}

/// A breakpoint instruction of the program itself, in place of the first loop's.
pub(crate) const TRAP: fn(u64) -> u64 = |order| super::scaling::time(cost_trap, order);

/// The register that counts the rounds of a loop down.
pub(crate) const ARGUMENT: Reg = Reg::RDI;

loops! {
    "nop" cost_nop,
    "push rbx" cost_push,
    "add rax, 1" cost_add,
    "mov rax, [rip+...]" cost_load,
    "call" cost_call,
}
