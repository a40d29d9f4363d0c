#![no_main]
//! See the claim of this name.

libfuzzer_sys::fuzz_target!(|data: &[u8]| claims::check("a_hostile_arena_harms_nobody", data));
