//! What must hold for every input: each claim is a function of an input's bytes that panics where it is broken.
//!
//! [`generate`] makes inputs of bytes and knows nothing of claims; [`claims`] know nothing of how inputs come about. The targets of
//! cargo-fuzz hand libFuzzer's bytes to a claim; `tests/replay.rs` hands it the checked-in corpus and random bytes, on any toolchain.
#![forbid(unsafe_code)]

pub mod a64;
pub mod assembler;
pub mod claims;
pub mod corpus;
pub mod deviations;
pub mod generate;
pub mod peers;
pub mod shape;
pub mod unlisted;

/// A claim by its name.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// The target's name.
    pub name: &'static str,
    /// Panics where the claim does not hold for these bytes.
    pub check: fn(&[u8]),
    /// Inputs of random bytes that an ordinary test run makes.
    pub inputs: u32,
}

/// All of them.
pub const CLAIMS: &[Claim] = &[
    claim("decoding_neither_panics_nor_reads_too_far", claims::decoding, 20_000),
    claim("a_batch_finds_what_single_instructions_tell", claims::batch, 500),
    claim("decoders_agree_but_for_known_deviations", claims::decoders, 20_000),
    claim("slots_do_what_their_originals_do", claims::slots, 200_000),
    claim("slot_addresses_translate_both_ways", claims::translation, 200_000),
    claim("a_table_keeps_what_a_map_keeps", claims::table, 20_000),
    claim("a_hostile_arena_harms_nobody", claims::arena, 20_000),
    claim("a_hostile_file_gets_an_answer", claims::file, 5_000),
    claim("a_hostile_recording_gets_an_answer", claims::recording, 50_000),
    claim("a_stream_is_answered_alike_however_it_is_cut", claims::channel, 50_000),
    claim("any_a64_word_has_one_answer", a64::any_word, 20_000),
    claim("other_a64_decoders_agree_but_for_known_deviations", a64::decoders, 500),
];

const fn claim(name: &'static str, check: fn(&[u8]), inputs: u32) -> Claim {
    Claim { name, check, inputs }
}

/// The claim of that name.
pub fn find(name: &str) -> Option<&'static Claim> {
    CLAIMS.iter().find(|claim| claim.name == name)
}

/// Checks a claim: what a target of cargo-fuzz does.
///
/// # Panics
/// Where it does not hold, or has no such name.
pub fn check(name: &str, data: &[u8]) {
    let claim = find(name).unwrap_or_else(|| panic!("no claim is called {name}"));
    (claim.check)(data);
}

/// Lets allocations fail that together take more than `bytes`: what would be swapped in for ever is a failure at once.
///
/// # Errors
/// The kernel refuses.
pub fn limit_memory(bytes: u64) -> nix::Result<()> {
    use nix::sys::resource::{Resource, setrlimit};
    setrlimit(Resource::RLIMIT_AS, bytes, bytes)
}
