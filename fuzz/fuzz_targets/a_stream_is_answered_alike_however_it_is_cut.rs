#![no_main]
//! See the claim of this name.

libfuzzer_sys::fuzz_target!(|data: &[u8]| claims::check("a_stream_is_answered_alike_however_it_is_cut", data));
