//! Names of modules.

use std::fs;
use std::path::{Path, PathBuf};

use super::pattern::Pattern;

/// What a module is called: by a path, by its file's name, in short.
#[derive(Debug, Clone)]
pub(crate) struct Module {
    pattern: Pattern,
    /// The file that a path leads to, and the program of that name.
    file: Option<PathBuf>,
}

impl Module {
    pub(crate) fn new(text: &str) -> Module {
        // As /proc/PID/maps tells of files that are unlinked, those in memory too.
        let text = text.strip_suffix(" (deleted)").unwrap_or(text);
        let pattern = Pattern::new(text);
        let file = if text.contains('/') { fs::canonicalize(text).ok() } else { program(text) };
        Module { pattern, file }
    }

    /// As it was written.
    pub(crate) fn text(&self) -> &str {
        self.pattern.text()
    }

    /// Whether the file at `path`, as the process that maps it sees it, is meant.
    pub(crate) fn matches(&self, path: &Path) -> bool {
        let is_that = |file: &PathBuf| path == file || fs::canonicalize(path).is_ok_and(|path| path == *file);
        let text = path.to_string_lossy();
        if self.pattern.matches(&text) || self.file.as_ref().is_some_and(is_that) {
            return true;
        }
        if self.text().contains('/') {
            return path.ends_with(self.text().trim_start_matches("./"));
        }
        let file = text.rsplit('/').next().unwrap_or(&text);
        short_forms(file).any(|name| self.pattern.matches(name))
    }
}

/// The file that a program's name means in the shell.
fn program(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.and_then(|path| fs::canonicalize(path).ok())
}

/// A file's name, without brackets, and of a library with each part of its version, without `.so`, without `lib`.
fn short_forms(file: &str) -> impl Iterator<Item = &str> {
    let bare = file.trim_start_matches('[').trim_end_matches(']');
    let bare = bare.strip_prefix("memfd:").unwrap_or(bare);
    let library = bare
        .find(".so")
        .map(|at| at + ".so".len())
        .filter(|&end| matches!(bare.as_bytes().get(end), None | Some(b'.')));
    let versions = library.into_iter().flat_map(|end| {
        let points = bare[end..].match_indices('.').map(move |(at, _)| end + at);
        points.chain([bare.len()]).map(|end| &bare[..end])
    });
    let stem = library.map_or(bare, |end| &bare[..end - ".so".len()]);
    let numbered = stem.split_once('-').filter(|(_, tail)| tail.starts_with(|c: char| c.is_ascii_digit()));
    let alone = numbered.map_or(stem, |(name, _)| name);
    let short = alone.strip_prefix("lib").unwrap_or(alone);
    [file, bare, stem, alone, short].into_iter().chain(versions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_meant_by_any_usual_short_form_of_its_name() {
        let path = Path::new("/lib/x86_64-linux-gnu/libc.so.6");
        for name in ["libc", "c", "libc.so", "libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6", "lib*", "*libc.so*"] {
            assert!(Module::new(name).matches(path), "{name}");
        }
        for name in ["libcrypt", "lib", "so", "m", "libc.", "gnu/libc.so.6"] {
            assert!(!Module::new(name).matches(path), "{name}");
        }
        assert!(Module::new("x86_64-linux-gnu/libc.so.6").matches(path));
        assert!(Module::new("libc").matches(Path::new("/lib/libc-2.31.so")));
        assert!(Module::new("vdso").matches(Path::new("[vdso]")) && Module::new("[vdso]").matches(Path::new("[vdso]")));
        assert!(Module::new("ld-linux-x86-64").matches(Path::new("/lib64/ld-linux-x86-64.so.2")));
        assert!(Module::new("x.something").matches(Path::new("/bin/x.something")));
        for name in ["libstdc++", "libstdc++.so", "libstdc++.so.6", "libstdc++.so.6.0", "libstdc++.so.6.0.30", "stdc++"]
        {
            assert!(Module::new(name).matches(Path::new("/usr/lib/libstdc++.so.6.0.30")), "{name}");
        }
    }

    #[test]
    fn a_file_in_memory_is_meant_with_and_without_what_the_kernel_writes_around_its_name() {
        for name in ["jit code", "memfd:jit code", "/memfd:jit code", "/memfd:jit code (deleted)"] {
            assert!(Module::new(name).matches(Path::new("/memfd:jit code")), "{name}");
        }
    }

    #[test]
    fn a_path_means_the_file_that_it_leads_to() {
        let exe = fs::canonicalize("/proc/self/exe").unwrap();
        assert!(Module::new("/proc/self/exe").matches(&exe));
        assert!(!Module::new("/proc/self/exe").matches(Path::new("/bin/other")));
    }
}
