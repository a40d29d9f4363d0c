#![no_main]
//! See the claim of this name.

libfuzzer_sys::fuzz_target!(|data: &[u8]| claims::check("decoding_neither_panics_nor_reads_too_far", data));
