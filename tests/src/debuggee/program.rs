use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use tempfile::TempDir;
use ubp::{Address, Pid, Session};

use super::arch::{Mode, length, mode};
use crate::in_turn;

/// A program, and where its functions are.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    mode: Mode,
    /// Name to address, as its file numbers it, and code.
    functions: BTreeMap<String, (u64, Vec<u8>)>,
    /// The folder where it was built, removed with the value.
    _directory: Option<TempDir>,
}

impl Program {
    /// Builds `tests/programs/NAME` with gcc. `None`: gcc cannot build such programs here, 32-bit ones perhaps.
    ///
    /// # Panics
    /// Where gcc cannot be run, or made something unreadable.
    pub fn build(name: &str, flags: &[&str]) -> Option<Program> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name);
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join(name.trim_end_matches(".c"));
        let mut gcc = Command::new("gcc");
        gcc.args(["-g", "-O1", "-pthread", "-Wall", "-Werror", "-o"]).arg(&path).arg(source).args(flags);
        let mut gcc = in_turn(|| gcc.spawn()).expect("gcc is needed");
        gcc.wait()
            .expect("it is a child")
            .success()
            .then(|| Program { _directory: Some(directory), ..Program::read(&path) })
    }

    /// Reads a program or library that is there already.
    ///
    /// # Panics
    /// Where it is no ELF file for this machine.
    pub fn read(path: &Path) -> Program {
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file = object::File::parse(&*bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mode = mode(&file);
        let mut functions = BTreeMap::new();
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
            let (Ok(name), Some(section), SymbolKind::Text) = (symbol.name(), section, symbol.kind()) else { continue };
            if let Ok(Some(code)) = section.data_range(symbol.address(), symbol.size()) {
                functions.insert(name.to_owned(), (symbol.address(), code.to_owned()));
            }
        }
        Program { path: path.to_owned(), mode, functions, _directory: None }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its functions' names.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(String::as_str)
    }

    /// Where a function begins, as the file numbers it.
    ///
    /// # Panics
    /// Where there is none of that name.
    pub fn address(&self, function: &str) -> u64 {
        self.functions.get(function).unwrap_or_else(|| panic!("no function {function} in {}", self.path.display())).0
    }

    /// The addresses of a function's instructions, as the file numbers them; up to where its bytes are none.
    ///
    /// # Panics
    /// Where there is none of that name.
    pub fn instructions(&self, function: &str) -> Vec<u64> {
        let start = self.address(function);
        let mut rest = self.functions[function].1.as_slice();
        let mut at = start;
        let mut found = Vec::new();
        while let Some(length) = length(rest, self.mode) {
            found.push(at);
            at += length as u64;
            rest = &rest[length..];
        }
        found
    }

    /// What to add to the file's addresses in this process; `None` where the file is not mapped.
    pub fn base(&self, session: &Session, pid: Pid) -> Option<u64> {
        let path = self.path.canonicalize().ok()?;
        let maps = session.process(pid)?.maps().ok()?;
        let start = maps.iter().find(|map| map.path.as_ref() == Some(&path))?;
        let bytes = std::fs::read(&path).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let fixed = file.kind() == object::ObjectKind::Executable;
        Some(if fixed { 0 } else { start.start.0 - start.offset })
    }

    /// Where a function begins in this process.
    ///
    /// # Panics
    /// Where there is none, or the program is not mapped.
    pub fn address_in(&self, session: &Session, pid: Pid, function: &str) -> Address {
        Address(self.base(session, pid).expect("it is mapped") + self.address(function))
    }

    /// A command that runs it.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(arguments).stdin(Stdio::null());
        command
    }
}
