//! What the library rooms promise to a kernel, looked for in a linked object.
#![cfg(target_arch = "x86_64")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Code and tables for length, class, target and validity, in bytes.
const MOST_FOR_CLASSIFYING: u64 = 24 << 10;
/// Code and tables for class, target and validity of A64, in bytes.
const MOST_FOR_CLASSIFYING_A64: u64 = 16 << 10;
/// Code and tables for trampolines of x86, with all that decodes, in bytes.
const MOST_FOR_TRAMPOLINES: u64 = 128 << 10;
/// What effects add to length and class, of x86 and of A64 each, in bytes.
const MOST_FOR_EFFECTS: u64 = 64 << 10;
/// The tables of common effects, in bytes.
const MOST_COMMON: u64 = 32 << 10;
/// The tables that common code touches, in bytes.
const MOST_HOT: u64 = 4 << 10;
/// The feature of tests/proof that brings the entries of this name.
const TRAMPOLINE: &str = "trampoline";
/// The function that the panic handler of tests/proof calls and nothing defines.
const PANIC: &str = "a_panic_can_be_reached";
/// What tests/proof leaves to its user, and what every C library and kernel has.
const IMPORTED: &[&str] =
    &["get_register", "set_register", "read_memory", "write_memory", "memcpy", "memmove", "memset", "memcmp", "bcmp"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("proof")
}

fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("proof")
}

/// The rooms as a static library, optimised as a kernel's code is; with a feature of tests/proof, or the empty name.
fn library(feature: &str) -> &'static Path {
    static LIBRARIES: [OnceLock<PathBuf>; 2] = [const { OnceLock::new() }; 2];
    LIBRARIES[usize::from(!feature.is_empty())].get_or_init(|| {
        let folder_of_target = target().join(feature);
        let mut build = cargo();
        build.args(["build", "--release", "--quiet", "--locked", "--features", feature, "--target-dir"]);
        build.arg(&folder_of_target).current_dir(folder());
        check(build.output().expect("cargo starts"));
        folder_of_target.join("release/libproof.a")
    })
}

/// Links what `entry` reaches and nothing else, into a file that no other test writes.
fn link(entry: &str) -> (Output, PathBuf) {
    let feature = if entry.starts_with(TRAMPOLINE) { TRAMPOLINE } else { "" };
    let mut gcc = Command::new("gcc");
    gcc.args(["-nostdlib", "-static", "-Wl,--gc-sections", "-Wl,--build-id=none"]);
    gcc.arg(format!("-Wl,-e,{entry},-u,{entry}")).arg(library(feature));
    gcc.args(IMPORTED.iter().map(|name| format!("-Wl,--defsym={name}=0x1000")));
    linked(gcc, entry)
}

/// Runs a linker, with a file that no other test writes as its output.
fn linked(mut linker: Command, entry: &str) -> (Output, PathBuf) {
    static LINKED: AtomicU32 = AtomicU32::new(0);
    let linked = target().join(format!("{entry}.{}", LINKED.fetch_add(1, Ordering::Relaxed)));
    (linker.arg("-o").arg(&linked).output().expect("the linker starts"), linked)
}

fn check(output: Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {text}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The linked program that `entry` reaches; fails where a panic is among it.
fn without_panic(entry: &str) -> PathBuf {
    let (output, linked) = link(entry);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!text.contains(PANIC), "{entry} can panic: {text}");
    check(output);
    linked
}

/// Bytes of the sections whose name begins so.
fn section_bytes(file: &Path, names: &[&str]) -> u64 {
    let listing = check(Command::new("size").arg("-A").arg(file).output().expect("size starts"));
    let sections = listing.lines().filter(|line| names.iter().any(|name| line.starts_with(name)));
    sections.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum()
}

#[test]
fn no_panic_can_be_reached_from_insn() {
    without_panic("insn_classify");
    without_panic("insn_everything");
    without_panic("insn_scans");
    without_panic("arm64_classify");
    without_panic("arm64_everything");
    without_panic("insn_names");
    without_panic("arm64_names");
}

#[test]
fn only_who_asks_for_names_and_operands_links_them() {
    let has = |entry, name: &str| {
        std::fs::read(without_panic(entry)).unwrap().windows(name.len()).any(|bytes| bytes == name.as_bytes())
    };
    for (names, everything, name) in
        [("insn_names", "insn_everything", "vpmultishiftqb"), ("arm64_names", "arm64_everything", "sqdmlalbt")]
    {
        assert!(has(names, name), "{names} lacks {name}");
        assert!(!has(everything, name), "{name} came along with {everything}");
        let operands = [names, everything].map(|entry| table_bytes(&without_panic(entry), "operand_list"));
        println!("tables of operands: {} bytes", operands[0]);
        assert!(operands[0] > 1024 && operands[1] == 0, "{operands:?}");
    }
}

#[test]
fn no_panic_can_be_reached_from_stepping() {
    without_panic("stepping_everything");
    without_panic("stepping_arm64_everything");
}

#[test]
fn no_panic_can_be_reached_from_trampoline() {
    let linked = without_panic("trampoline_everything");
    let bytes = section_bytes(&linked, &[".text", ".rodata", ".data"]);
    println!("trampolines: {bytes} bytes");
    assert!(bytes <= MOST_FOR_TRAMPOLINES, "{bytes} bytes");
    without_panic("trampoline_arm64_everything");
}

#[test]
fn no_panic_can_be_reached_from_wire() {
    without_panic("wire_everything");
    without_panic("wire_serve");
}

#[test]
fn what_serves_commands_has_no_documentation_of_them() {
    let linked = |entry| std::fs::read(without_panic(entry)).unwrap();
    let (serves, all) = (linked("wire_serve"), linked("wire_everything"));
    let documentation = wire::commands::DOCUMENTATION.iter().chain(wire::events::DOCUMENTATION);
    for line in documentation.flat_map(|one| one.fields.iter().chain(one.reply).chain([&one.lines])).copied().flatten()
    {
        let has = |program: &[u8]| program.windows(line.len()).any(|bytes| bytes == line.as_bytes());
        assert!(!has(&serves), "{line:?} came along");
        assert!(has(&all), "{line:?} is not where it is printed");
    }
}

/// What a program without an operating system can call.
const ENTRIES: [&str; 11] = [
    "insn_classify",
    "insn_everything",
    "insn_names",
    "arm64_classify",
    "arm64_everything",
    "arm64_names",
    "stepping_everything",
    "stepping_arm64_everything",
    "wire_serve",
    "wire_everything",
    "ubp_everything",
];

/// Cargo, which builds the same code whatever the environment says of incremental builds.
fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.env("CARGO_INCREMENTAL", "0");
    cargo
}

/// What rustc prints.
fn rustc(arguments: &[&str]) -> Option<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(arguments).current_dir(folder()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Builds the rooms for a target without an operating system, and links each entry by Rust's own linker.
fn links_without_a_system(test: &str, name: &str) {
    let libraries = rustc(&["--print", "target-libdir", "--target", name]).unwrap_or_default();
    if !Path::new(&libraries).is_dir() {
        return crossing::skip(test, format_args!("Rust has no {name} here: `rustup target add {name}` brings it"));
    }
    let root = PathBuf::from(rustc(&["--print", "sysroot"]).unwrap_or_default());
    let lld = root.join("lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld");
    if !lld.exists() {
        return crossing::skip(test, format_args!("Rust has no linker here: {}", lld.display()));
    }
    let mut build = cargo();
    build.args(["build", "--release", "--quiet", "--locked", "--target", name, "--target-dir"]).arg(target());
    check(build.current_dir(folder()).output().expect("cargo starts"));
    for entry in ENTRIES {
        let mut link = Command::new(&lld);
        link.args(["-flavor", "gnu", "-static", "--gc-sections", "-e", entry, "-u", entry]);
        link.arg(target().join(name).join("release/libproof.a"));
        link.args(IMPORTED.iter().map(|name| format!("--defsym={name}=0x1000")));
        let (output, _) = linked(link, entry);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!text.contains(PANIC), "{entry} can panic: {text}");
        check(output);
    }
}

#[test]
fn the_libraries_link_without_an_operating_system_on_x86_64() {
    let test = "the_libraries_link_without_an_operating_system_on_x86_64";
    links_without_a_system(test, "x86_64-unknown-none");
}

#[test]
fn the_libraries_link_without_an_operating_system_on_arm64() {
    let test = "the_libraries_link_without_an_operating_system_on_arm64";
    links_without_a_system(test, "aarch64-unknown-none");
}

#[test]
fn no_panic_can_be_reached_from_the_core_of_ubp() {
    without_panic("ubp_everything");
}

#[test]
fn length_class_and_validity_fit_in_24_kib() {
    let linked = without_panic("insn_classify");
    let bytes = section_bytes(&linked, &[".text", ".rodata", ".data"]);
    println!("length, class, target and validity: {bytes} bytes");
    assert!(bytes > 1024, "hardly anything was linked: {bytes} bytes");
    assert!(bytes <= MOST_FOR_CLASSIFYING, "{bytes} bytes");
}

#[test]
fn class_target_and_validity_of_a64_fit_in_16_kib() {
    let linked = without_panic("arm64_classify");
    let bytes = section_bytes(&linked, &[".text", ".rodata", ".data"]);
    println!("class, target and validity of A64: {bytes} bytes");
    assert!(bytes > 1024, "hardly anything was linked: {bytes} bytes");
    assert!(bytes <= MOST_FOR_CLASSIFYING_A64, "{bytes} bytes");
    for table in ["forms", "effects"] {
        assert_eq!(table_bytes(&linked, table), 0, "tables of {table} came along");
        assert!(table_bytes(&without_panic("arm64_everything"), table) > 0, "the cold tables have another name");
    }
}

#[test]
fn stepping_of_a64_needs_no_tables_of_registers_and_memory() {
    let linked = without_panic("stepping_arm64_everything");
    println!("stepping of A64: {} bytes", section_bytes(&linked, &[".text", ".rodata", ".data"]));
    assert_eq!(table_bytes(&linked, "effects"), 0, "tables of registers and memory came along");
    assert!(table_bytes(&linked, "special") > 0, "the table of kinds has another name");
}

/// Bytes of the symbols that belong to one of insn's generated modules.
fn table_bytes(file: &Path, module: &str) -> u64 {
    let listing = check(Command::new("nm").arg("-S").arg(file).output().expect("nm starts"));
    let sizes = listing.lines().filter(|line| line.contains(&format!("9generated{}{module}", module.len())));
    sizes.filter_map(|line| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok()).sum()
}

#[test]
fn tables_of_common_effects_fit_in_32_kib() {
    let linked = without_panic("insn_everything");
    let (all, common) = (section_bytes(&linked, &[".text", ".rodata", ".data"]), table_bytes(&linked, "common"));
    println!("everything of x86: {all} bytes, {common} of them tables of common effects");
    assert!((1024..=MOST_COMMON).contains(&common), "{common} bytes");
}

#[test]
fn effects_add_at_most_64_kib_to_length_and_class() {
    for (effects, class) in [("insn_effects", "insn_classify"), ("arm64_effects", "arm64_classify")] {
        let [all, class] =
            [effects, class].map(|entry| section_bytes(&without_panic(entry), &[".text", ".rodata", ".data"]));
        println!("{effects}: {} bytes more", all - class);
        assert!((1024..=MOST_FOR_EFFECTS).contains(&(all - class)), "{effects}: {} bytes more", all - class);
    }
}

#[test]
fn hot_tables_fit_in_4_kib_and_cold_ones_stay_out() {
    let linked = without_panic("insn_classify");
    let hot = table_bytes(&linked, "hot");
    println!("hot tables: {hot} bytes");
    assert!((1024..=MOST_HOT).contains(&hot), "{hot} bytes");
    assert_eq!(table_bytes(&linked, "semantics"), 0, "tables of registers and flags came along");
    assert!(table_bytes(&without_panic("insn_everything"), "semantics") > 0, "the cold tables have another name");
}
