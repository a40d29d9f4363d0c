//! Links an entry function of `no_std` crates into a shared object by itself and tells what came along.
//!
//! What the linker keeps is what a kernel or a debugger would carry: a panic that can be reached leaves its symbol there,
//! and the sections' sizes are the price in bytes. The crates are compiled afresh, optimized, with link-time optimization.

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Put before every entry source.
const PRELUDE: &str = "#![no_std]
#![allow(warnings)]
#[panic_handler]
fn handler(_: &core::panic::PanicInfo) -> ! {
    unsafe extern \"C\" {
        fn reached_panic() -> !;
    }
    unsafe { reached_panic() }
}
";

/// A crate that the entry uses.
#[derive(Clone, Copy, Debug)]
pub struct Crate<'a> {
    /// Its name as `use` writes it.
    pub name: &'a str,
    /// Its lib.rs.
    pub root: &'a Path,
}

/// A symbol that was kept.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// Mangled name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Whether it is a function; else data.
    pub is_function: bool,
}

/// What the linker kept.
#[derive(Clone, Debug)]
pub struct Linked {
    /// Every function and object.
    pub symbols: Vec<Symbol>,
    /// Bytes of machine code.
    pub code: u64,
    /// Bytes of tables: read-only data, relocated or not.
    pub tables: u64,
    /// Names of symbols that the object expects from elsewhere.
    pub undefined: Vec<String>,
}

impl Linked {
    /// Names that only a reachable panic brings along.
    pub fn panics(&self) -> Vec<&str> {
        let mut found: Vec<&str> =
            self.undefined.iter().map(String::as_str).filter(|n| *n == "reached_panic").collect();
        let panicking = |name: &str| {
            ["panic", "unwrap_failed", "expect_failed", "slice_index_fail"].iter().any(|p| name.contains(p))
        };
        found.extend(self.symbols.iter().map(|s| s.name.as_str()).filter(|n| panicking(n)));
        found
    }
    /// Bytes of the data symbols whose name contains `part`.
    pub fn size_of(&self, part: &str) -> u64 {
        self.symbols.iter().filter(|s| !s.is_function && s.name.contains(part)).map(|s| s.size).sum()
    }
}

/// Compiles `crates`, each of which may use those before it, then `entry` (Rust source of `#[unsafe(no_mangle)] extern "C"`
/// functions), and links them in `dir`.
///
/// # Errors
/// What the compiler or the linker says.
pub fn link(dir: &Path, crates: &[Crate], entry: &str) -> Result<Linked, String> {
    std::fs::create_dir_all(dir).map_err(|e| e.to_string())?;
    for (i, krate) in crates.iter().enumerate() {
        let mut rustc = compiler(dir, &crates[..i], "rlib", krate.name);
        rustc.arg(krate.root).arg("--cap-lints=allow");
        run(&mut rustc)?;
    }
    let source = dir.join("entry.rs");
    std::fs::write(&source, format!("{PRELUDE}{entry}")).map_err(|e| e.to_string())?;
    let mut rustc = compiler(dir, crates, "cdylib", "entry");
    // A missing `reached_panic` is what we want to see, not to fail upon.
    rustc.arg(&source).args([
        "-Clto=fat",
        "-Ccodegen-units=1",
        "-Clink-arg=-Wl,--gc-sections,-z,undefs,--build-id=none",
    ]);
    run(&mut rustc)?;
    read(&dir.join("libentry.so"))
}

fn compiler(dir: &Path, crates: &[Crate], kind: &str, name: &str) -> Command {
    let rustc = std::env::var_os("RUSTC").map_or_else(|| PathBuf::from("rustc"), PathBuf::from);
    let mut command = Command::new(rustc);
    command.args(["--edition=2024", "-Copt-level=3", "-Cpanic=abort", "--crate-type", kind, "--crate-name", name]);
    command.arg("--out-dir").arg(dir).arg("-L").arg(dir);
    for krate in crates {
        command.arg("--extern").arg(format!(
            "{}={}",
            krate.name,
            dir.join(format!("lib{}.rlib", krate.name)).display()
        ));
    }
    command
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    output.status.success().then_some(()).ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

fn read(path: &Path) -> Result<Linked, String> {
    let data = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let file = object::File::parse(&*data).map_err(|e| format!("{}: {e}", path.display()))?;
    let section = |name: &str| file.section_by_name(name).map_or(0, |s| s.size());
    let mut linked = Linked {
        symbols: Vec::new(),
        code: section(".text"),
        tables: section(".rodata") + section(".data.rel.ro"),
        undefined: Vec::new(),
    };
    for symbol in file.symbols() {
        let name = symbol.name().unwrap_or_default().to_owned();
        match symbol.kind() {
            _ if symbol.is_undefined() => linked.undefined.push(name),
            kind @ (SymbolKind::Text | SymbolKind::Data) => {
                linked.symbols.push(Symbol { name, size: symbol.size(), is_function: kind == SymbolKind::Text });
            }
            _ => {}
        }
    }
    Ok(linked)
}
