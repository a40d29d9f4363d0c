//! The lengths of the instructions that start at each byte of code in 64-bit mode.
//!
//! The length of an instruction behind a prefix or an escape is that of the rest and one. So all lengths of opcodes are computed first, then those
//! behind 0F, then behind REX, then behind other prefixes, each from the last one a byte on. Blocks follow each other from the last to the first,
//! so that the next block is always known.

use super::super::walk::Walk;
use super::factor::Term;
use super::kinds::{
    KINDS, ONE_BYTE_KINDS, PREFIX_BYTES, PREFIX_TERMS, Properties, TERMS, TEST, TEST_BYTE, TWO_BYTE_KINDS, VALID,
};
use super::modrm::{BASE, DISPLACEMENT, EXTRA, MOD, RM};
use super::state::{GROWS, LENGTH, PLAIN, PREFIXES};
use super::vectors::{BLOCK, Vectors};

/// The number of bytes behind those of a block that tell of its instructions.
const BEHIND: usize = 2;
/// The number of instructions that the walk passes after a block: as many as a block has, as a rule.
const STEPS: usize = 8;
/// The high nibble of a REX prefix.
const REX: u8 = 4;

/// Writes the lengths of the instructions at each byte into `lens`, whose size is a multiple of [`BLOCK`], where vectors tell them. A length of 0
/// tells nothing. `bytes` has at least two bytes more than `lens`; what vectors tell of an instruction may lie in bytes behind these.
/// The walk goes on after each block: the processor takes its steps while it computes.
#[inline(always)]
pub(super) fn lengths<V: Vectors>(v: V, bytes: &[u8], lens: &mut [u8], walk: &mut Walk<'_>) {
    let none = v.each(0);
    let unknown = State { state: none, sizes: none };
    let mut next = Stages { escaped: none, opcode: unknown, rex: unknown, prefixed: unknown };
    let size = lens.len();
    for (number, lens) in lens.chunks_exact_mut(BLOCK).enumerate().rev() {
        let window = bytes.get(number * BLOCK..).and_then(|rest| rest.first_chunk::<{ BLOCK + BEHIND }>());
        if let (Some(window), Some(lens)) = (window, lens.first_chunk_mut()) {
            v.prefetch(bytes.get(number * BLOCK + size..).unwrap_or_default());
            next = block(v, window, lens, &next);
        }
        for _ in 0..STEPS {
            walk.step();
        }
    }
}

/// For the instruction at each byte of a block: its state, and how a prefix before it changes the size of its immediate.
#[derive(Clone, Copy)]
struct State<B> {
    state: B,
    sizes: B,
}

impl<B: Copy> State<B> {
    /// The same one byte on.
    #[inline(always)]
    fn ahead<V: Vectors<Block = B>>(self, v: V, next: &State<B>) -> State<B> {
        State { state: v.ahead(self.state, next.state), sizes: v.ahead(self.sizes, next.sizes) }
    }
}

/// The states of a block on the way to the lengths. The block before it needs the first byte of each.
struct Stages<B> {
    /// Behind 0F, without sizes.
    escaped: B,
    /// At the opcode, or at the 0F before it.
    opcode: State<B>,
    /// The same, or at the REX before it.
    rex: State<B>,
    /// The same, or at one other prefix before it.
    prefixed: State<B>,
}

#[inline(always)]
fn block<V: Vectors>(
    v: V,
    window: &[u8; BLOCK + BEHIND],
    lens: &mut [u8; BLOCK],
    next: &Stages<V::Block>,
) -> Stages<V::Block> {
    let first = load(v, window, 0);
    let (low, high) = (v.and(first, v.each(0x0f)), v.high_nibbles(first));

    let operand = Operand::of(v, load(v, window, 1), load(v, window, 2));
    let kinds = sum::<V, TERMS>(v, &KINDS, low, high);
    let one_byte = operand.behind_one_byte(v, v.and(kinds, v.each(0x0f)));
    let escaped = operand.behind(v, &TWO_BYTE_KINDS, v.high_nibbles(kinds));

    let is_escape = v.equal(first, v.each(0x0f));
    let behind = v.and(is_escape, v.ahead(escaped, next.escaped));
    let opcode = State { state: v.or(one_byte.state, behind), sizes: one_byte.sizes };

    let is_wide = v.equal(v.and(first, v.each(0xf8)), v.each(0x48));
    let rex = behind_rex(v, v.equal(high, v.each(REX)), is_wide, opcode, opcode.ahead(v, &next.opcode));

    let prefix = sum::<V, PREFIX_TERMS>(v, &PREFIX_BYTES, low, high);
    let prefixed = behind_prefix(v, prefix, rex, rex.ahead(v, &next.rex));
    let twice = behind_prefix(v, prefix, rex, prefixed.ahead(v, &next.prefixed));

    v.store(v.and(v.and(twice.state, v.each(LENGTH)), v.signs(twice.state)), lens);
    Stages { escaped, opcode, rex, prefixed }
}

/// The block at an offset, which is at most [`BEHIND`].
#[inline(always)]
fn load<V: Vectors>(v: V, window: &[u8; BLOCK + BEHIND], at: usize) -> V::Block {
    match window.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => v.load(bytes),
        None => v.each(0),
    }
}

/// The sum of products that a table of 256 bytes is.
#[inline(always)]
fn sum<V: Vectors, const COUNT: usize>(v: V, terms: &[Term; COUNT], low: V::Block, high: V::Block) -> V::Block {
    // No closures: a function that is not inlined is not compiled for vectors.
    let mut sum = v.each(0);
    for term in terms {
        sum = v.xor(sum, v.and(v.look_up(v.table(&term.low), low), v.look_up(v.table(&term.high), high)));
    }
    sum
}

/// What the bytes behind an opcode are if they are modrm, SIB byte and displacement.
struct Operand<B> {
    /// The number of bytes.
    len: B,
    /// The classes that contain modrm.
    classes: B,
}

impl<B: Copy> Operand<B> {
    #[inline(always)]
    fn of<V: Vectors<Block = B>>(v: V, modrm: B, sib: B) -> Operand<B> {
        let (low, high) = (v.and(modrm, v.each(0x0f)), v.high_nibbles(modrm));
        let admitted = v.and(v.look_up(v.table(&RM), low), v.look_up(v.table(&MOD), high));
        let admitted = v.and(admitted, v.look_up(v.table(&BASE), v.and(sib, v.each(0x0f))));
        let len = v.add(v.look_up(v.table(&EXTRA), admitted), v.look_up(v.table(&DISPLACEMENT), high));
        let classes = v.and(v.look_up(v.table(&VALID.low), low), v.look_up(v.table(&VALID.high), high));
        Operand { len, classes }
    }

    /// The states of opcodes of these kinds with the operand, whatever it is.
    #[inline(always)]
    fn behind<V: Vectors<Block = B>>(&self, v: V, properties: &Properties, kinds: B) -> B {
        let len = v.and(v.look_up(v.table(&properties.operand), kinds), self.len);
        v.add(v.look_up(v.table(&properties.state), kinds), len)
    }

    /// The same for the one-byte map, where the operand can be invalid.
    #[inline(always)]
    fn behind_one_byte<V: Vectors<Block = B>>(&self, v: V, kinds: B) -> State<B> {
        let properties = &ONE_BYTE_KINDS;
        let classes = v.and(v.look_up(v.table(&properties.classes), kinds), self.classes);
        let missing = v.and(classes, v.each(TEST_BYTE | TEST));
        let state = v.subtract(self.behind(v, properties, kinds), missing);
        let state = v.without(state, v.equal(classes, v.each(0)));
        State { state, sizes: v.look_up(v.table(&properties.sizes), kinds) }
    }
}

/// The states with those at a REX prefix, by the states one byte on.
#[inline(always)]
fn behind_rex<V: Vectors>(
    v: V,
    is_rex: V::Block,
    is_wide: V::Block,
    here: State<V::Block>,
    ahead: State<V::Block>,
) -> State<V::Block> {
    let more = v.and(v.and(ahead.sizes, is_wide), v.each(GROWS));
    let state = v.add(ahead.state, v.add(more, v.each(1)));
    let sizes = v.without(v.and(ahead.sizes, is_rex), is_wide);
    State { state: v.or(here.state, v.and(is_rex, state)), sizes: v.or(here.sizes, sizes) }
}

/// The states with those at another prefix, by the states one byte on. All prefixes may precede a prefix with which they may precede the opcode.
#[inline(always)]
fn behind_prefix<V: Vectors>(v: V, prefix: V::Block, here: State<V::Block>, ahead: State<V::Block>) -> State<V::Block> {
    let wanted = v.and(prefix, v.each(PREFIXES));
    let is_none = v.equal(v.and(ahead.state, wanted), v.each(0));
    let less = v.and(ahead.sizes, prefix);
    let state = v.add(v.subtract(ahead.state, less), v.each(1));
    let state = v.without(v.or(state, v.each(PLAIN)), is_none);
    let sizes = v.without(v.without(ahead.sizes, prefix), is_none);
    State { state: v.or(here.state, state), sizes: v.or(here.sizes, sizes) }
}
