#![no_main]
//! See the claim of this name.

libfuzzer_sys::fuzz_target!(|data: &[u8]| claims::check("other_a64_decoders_agree_but_for_known_deviations", data));
