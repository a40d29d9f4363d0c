#![no_main]
//! See the claim of this name.

libfuzzer_sys::fuzz_target!(|data: &[u8]| claims::check("a_hostile_recording_gets_an_answer", data));
