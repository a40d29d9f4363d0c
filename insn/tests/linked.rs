//! What a program that links the decoder carries: no panic, few bytes.

use link_proof::{Crate, Linked, link};
use std::path::Path;

const DECODE: &str = r#"
use insn::x86::{Bits, Mode, Vendor, decode};

#[unsafe(no_mangle)]
extern "C" fn entry(bytes: *const u8, len: usize, bits: u8, amd: bool, lenient: bool) -> u32 {
    let bytes = unsafe { core::slice::from_raw_parts(bytes, len) };
    let bits = match bits {
        0 => Bits::B16,
        1 => Bits::B32,
        _ => Bits::B64,
    };
    let mode = Mode { bits, vendor: if amd { Vendor::Amd } else { Vendor::Intel }, lenient };
    match decode(bytes, mode) {
        Ok(insn) => insn.len() as u32 | (insn.flow() as u32) << 8,
        Err(error) => 1 << 31 | (error.kind as u32) << 8 | u32::from(error.offset),
    }
}
"#;

const EVERYTHING: &str = r#"
use insn::x86::{Bits, Mode, Vendor, decode};

fn hide<T>(value: T) {
    core::hint::black_box(value);
}

#[unsafe(no_mangle)]
extern "C" fn entry(bytes: *const u8, len: usize, bits: u8, amd: bool, lenient: bool, pc: u64) {
    let bytes = unsafe { core::slice::from_raw_parts(bytes, len) };
    let bits = match bits {
        0 => Bits::B16,
        1 => Bits::B32,
        _ => Bits::B64,
    };
    let mode = Mode { bits, vendor: if amd { Vendor::Amd } else { Vendor::Intel }, lenient };
    let Ok(insn) = decode(bytes, mode) else { return };
    hide(insn.len());
    hide(insn.bytes());
    hide(insn.mode());
    hide(insn.encoding());
    hide(insn.map());
    hide(insn.opcode());
    hide(insn.opcode_offset());
    hide(insn.prefix_len());
    hide(insn.prefixes());
    hide(insn.modrm_offset());
    hide(insn.modrm());
    hide(insn.sib_offset());
    hide(insn.sib());
    hide(insn.reg());
    hide(insn.rm());
    hide(insn.w());
    hide(insn.vvvv());
    hide(insn.displacement());
    hide(insn.immediate());
    hide(insn.immediate2());
    hide(insn.operand_size());
    hide(insn.address_size());
    hide(insn.memory());
    hide(insn.implicit_memory());
    hide(insn.is_rip_relative());
    hide(insn.rip_relative_address(pc));
    hide(insn.flow());
    hide(insn.target());
    hide(insn.target_address(pc));
    hide(insn.reads());
    hide(insn.writes());
    hide(insn.flags_read());
    hide(insn.flags_written());
    hide(insn.effects());
}
"#;

fn linked(name: &str, entry: &str) -> Linked {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    link(&dir, &[Crate { name: "insn", root: &root }], entry).unwrap()
}

#[test]
fn no_panic_can_be_reached_from_any_accessor() {
    let linked = linked("everything", EVERYTHING);
    assert_eq!(linked.panics(), Vec::<&str>::new());
}

#[test]
fn the_proof_notices_a_panic() {
    let panicking = r#"
#[unsafe(no_mangle)]
extern "C" fn entry(bytes: *const u8, len: usize) -> u8 {
    let bytes = unsafe { core::slice::from_raw_parts(bytes, len) };
    bytes[insn::x86::MAX_LEN]
}
"#;
    assert!(!linked("panicking", panicking).panics().is_empty());
}

#[test]
fn length_class_and_validity_take_at_most_24_kib() {
    let linked = linked("decode", DECODE);
    assert_eq!(linked.panics(), Vec::<&str>::new());
    let total = linked.code + linked.tables;
    println!("code {} + tables {} = {total} bytes", linked.code, linked.tables);
    assert!(total <= 24 * 1024, "{total} bytes: {:#?}", linked.symbols);
    assert_eq!(linked.size_of("semantics"), 0, "cold tables came along");
}

#[test]
fn hot_tables_take_at_most_4_kib() {
    let linked = linked("hot", DECODE);
    let hot = linked.size_of("generated3hot");
    println!("hot tables {hot} bytes");
    assert!((1..=4096).contains(&hot), "{hot} bytes");
}
