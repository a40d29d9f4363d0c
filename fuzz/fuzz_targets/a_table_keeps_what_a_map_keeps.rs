#![no_main]
//! See the claim of this name.

libfuzzer_sys::fuzz_target!(|data: &[u8]| claims::check("a_table_keeps_what_a_map_keeps", data));
