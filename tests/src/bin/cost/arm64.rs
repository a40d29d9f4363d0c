//! Loops whose first instruction is measured: AArch64.

use std::arch::global_asm;

use insn::arm64::Reg;

global_asm!(
    ".pushsection .text",
    ".globl cost_nop",
    ".type cost_nop, %function",
    "cost_nop: nop",
    "subs x0, x0, #1",
    "b.ne cost_nop",
    "ret",
    ".globl cost_push",
    ".type cost_push, %function",
    "cost_push: str x1, [sp, #-16]!",
    "add sp, sp, #16",
    "subs x0, x0, #1",
    "b.ne cost_push",
    "ret",
    ".globl cost_add",
    ".type cost_add, %function",
    "cost_add: add x1, x1, #1",
    "subs x0, x0, #1",
    "b.ne cost_add",
    "ret",
    ".globl cost_load",
    ".type cost_load, %function",
    "cost_load: ldr x1, cost_nop",
    "subs x0, x0, #1",
    "b.ne cost_load",
    "ret",
    ".globl cost_branch",
    ".type cost_branch, %function",
    "cost_branch: b 2f",
    "2: subs x0, x0, #1",
    "b.ne cost_branch",
    "ret",
    ".popsection",
);

/// The register that counts the rounds of a loop down.
pub(crate) const ARGUMENT: Reg = Reg::general(0);

loops! {
    "nop" cost_nop,
    "str x1, [sp, #-16]!" cost_push,
    "add x1, x1, #1" cost_add,
    "ldr x1, literal" cost_load,
    "b" cost_branch,
}
