//! The files in whose symbols locations are looked for. Nothing is started and nobody is stopped for it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use ubp::rules::Glob;
use ubp_symbols::files::{Root, open};
use ubp_symbols::{ElfError, Image};

use super::asked::Whom;
use crate::launch::{processes_executing, processes_named, which};

/// Where loaders look for libraries, beside the folders that their configuration names (ld.so(8)).
const FOLDERS: &[&str] = &["/lib64", "/usr/lib64", "/lib", "/usr/lib"];
/// The configuration of the C library's loader (ldconfig(8)).
const CONFIGURATION: &str = "/etc/ld.so.conf";
/// The largest number of libraries of one program.
const MOST: usize = 500;

/// The files of those whom a command line names, the program first. Where it names nobody yet: the C library.
pub(super) fn of(whom: &Whom) -> Vec<Image> {
    if !whom.files.is_empty() {
        return whom.files.iter().filter_map(|file| Image::open(file).ok()).collect();
    }
    if let Some(program) = &whom.program {
        return of_program(program);
    }
    let named = || whom.names.first().and_then(|name| processes_named(name).ok());
    let executing = || whom.executables.first().and_then(|pattern| processes_executing(pattern).ok());
    let process = whom.processes.first().copied();
    match process.or_else(|| named().or_else(executing)?.first().copied()) {
        Some(pid) => of_process(pid, |_| true),
        None if !whom.names.is_empty() || !whom.executables.is_empty() => Vec::new(),
        None => of_process(std::process::id(), |file| file.starts_with("libc.so")),
    }
}

/// The files that a process has mapped as code, and whose names are wanted.
fn of_process(pid: impl std::fmt::Display, is_wanted: fn(&str) -> bool) -> Vec<Image> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let Ok(root) = Root::of(&pid) else { return Vec::new() };
    let mut known = HashSet::new();
    // Address, rights, offset, device, inode, and the path, which may have spaces.
    let path = |line: &str| {
        let rights = line.split(' ').nth(1)?;
        let path = line.find('/').map(|at| line[at..].to_string())?;
        let name = path.rsplit('/').next()?;
        (rights.contains('x') && is_wanted(name) && known.insert(path.clone())).then_some(path)
    };
    let paths: Vec<String> = maps.lines().filter_map(path).collect();
    paths.iter().filter_map(|path| Image::open_below(&root, Path::new(path)).ok()).collect()
}

/// The file of a program, of a script its interpreter, and the libraries with which the loader will link it.
fn of_program(name: &str) -> Vec<Image> {
    let Some(program) = executed(name) else { return Vec::new() };
    let folders = configured();
    let mut known: HashSet<String> = HashSet::new();
    let mut all = vec![program];
    let mut next = 0;
    while let Some(image) = all.get(next).filter(|_| next < MOST) {
        let arch = image.arch();
        let needed = image.needed();
        let own = needed.folders.iter().map(|folder| origin(folder, image.path()));
        let paths: Vec<PathBuf> = own.chain(folders.iter().cloned()).collect();
        let fits = |image: &Image| image.arch() == arch;
        let mut found = Vec::new();
        for library in needed.libraries.iter().filter(|library| known.insert((*library).clone())) {
            let candidates = paths.iter().map(|folder| folder.join(library));
            found.extend(candidates.filter_map(|path| Image::open(&path).ok()).find(fits));
        }
        all.extend(found);
        next += 1;
    }
    all
}

/// The file that is executed for a program's name.
fn executed(name: &str) -> Option<Image> {
    // The shell would put the home folder there.
    let home = name.strip_prefix("~/").zip(std::env::var_os("HOME")).map(|(rest, home)| Path::new(&home).join(rest));
    let path = home.or_else(|| which(OsStr::new(name)))?;
    match Image::open(&path) {
        Ok(image) => Some(image),
        Err(ElfError::NotElf) => {
            let (interpreter, argument) = interpreter(&path)?;
            let asks_path = interpreter.ends_with("/env");
            let meant = if asks_path { which(OsStr::new(&argument?))? } else { interpreter.into() };
            Image::open(&meant).ok()
        }
        Err(_) => None,
    }
}

/// The interpreter of a script, and the first word behind it (execve(2)).
fn interpreter(path: &Path) -> Option<(String, Option<String>)> {
    let file = open(path).ok()?;
    let start = file.read(0, file.size().min(256))?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_ascii_whitespace().map(str::to_string);
    Some((words.next()?, words.next()))
}

/// A folder of a file, which may begin where the file lies.
fn origin(folder: &str, file: &Path) -> PathBuf {
    let own = file.parent().unwrap_or(Path::new("/")).to_string_lossy();
    folder.replace("${ORIGIN}", &own).replace("$ORIGIN", &own).into()
}

/// The folders of libraries: of the environment, of the loader's configuration, and the usual ones.
fn configured() -> Vec<PathBuf> {
    let variable = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&variable).filter(|path| path.is_absolute()).collect();
    read(Path::new(CONFIGURATION), 4, &mut folders);
    folders.extend(FOLDERS.iter().map(PathBuf::from));
    folders
}

/// Adds the folders of a file of the configuration: a folder a line, or `include` with other files.
fn read(file: &Path, depth: u32, folders: &mut Vec<PathBuf>) {
    let text = fs::read_to_string(file).unwrap_or_default();
    for line in text.lines().map(str::trim) {
        match line.strip_prefix("include ") {
            Some(pattern) if depth > 0 => {
                let pattern = Path::new(pattern.trim());
                let glob = Glob::new(&*pattern.to_string_lossy());
                let inside = pattern.parent().and_then(|folder| fs::read_dir(folder).ok());
                let mut files: Vec<PathBuf> =
                    inside.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
                files.sort();
                let meant = files.iter().filter(|path| glob.matches(&*path.to_string_lossy()));
                meant.for_each(|path| read(path, depth - 1, folders));
            }
            _ if line.starts_with('/') => folders.push(line.into()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_the_libraries_with_which_the_loader_links_it() {
        let whom = Whom { program: Some("sh".into()), ..Whom::default() };
        let names: Vec<String> = of(&whom).iter().map(|image| image.name().to_string()).collect();
        assert!(names.iter().any(|name| name.starts_with("libc.so")), "{names:?}");
    }

    #[test]
    fn a_process_has_the_files_that_it_has_mapped() {
        let whom = Whom { processes: vec![std::process::id() as i32], ..Whom::default() };
        let own = std::env::current_exe().unwrap();
        assert!(of(&whom).iter().any(|image| image.path() == own));
    }
}
