//! The examples do what they show.
#![allow(dead_code, reason = "an example's main function is not called")]

#[path = "../examples/trampoline_of_code.rs"]
mod trampoline_of_code;

#[test]
fn the_trampoline_of_code_is_printed_with_its_places() {
    let mut out = Vec::new();
    trampoline_of_code::run("554889e54839fe0f92c05dc3", &mut out).unwrap();
    let expected = "0x401000: [e9, 06, 06, 06, 06], which leads to 0x646160b in the mirror
7 bytes of the program run in the trampoline
0x510000: [f0, 48, ff, 05, f8, ff, fe, ff]   is 0x401000, Before
0x510008: [55]                               is 0x401000, Done
0x510009: [48, 89, e5]                       is 0x401001, Before
0x51000c: [48, 39, fe]                       is 0x401004, Before
0x51000f: [e9, f3, 0f, ef, ff]               is 0x401007, Before
";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}
