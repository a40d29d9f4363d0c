#![no_main]
//! See the claim of this name.

libfuzzer_sys::fuzz_target!(|data: &[u8]| claims::check("a_batch_finds_what_single_instructions_tell", data));
