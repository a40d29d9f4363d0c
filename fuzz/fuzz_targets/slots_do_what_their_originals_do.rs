#![no_main]
//! See the claim of this name.

libfuzzer_sys::fuzz_target!(|data: &[u8]| claims::check("slots_do_what_their_originals_do", data));
