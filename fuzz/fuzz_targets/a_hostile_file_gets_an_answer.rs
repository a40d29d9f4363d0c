#![no_main]
//! See the claim of this name.

libfuzzer_sys::fuzz_target!(
    init: claims::limit_memory(4 << 30).expect("a limit of memory"),
    |data: &[u8]| claims::check("a_hostile_file_gets_an_answer", data)
);
