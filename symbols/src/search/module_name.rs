//! The names of modules.

use std::path::{Path, PathBuf};

use super::pattern::Pattern;
use crate::elf::Image;
use crate::files::{Identity, open};

/// The name of a module: a path, the name of its file, or a short form.
#[derive(Debug, Clone)]
pub struct ModuleName {
    pattern: Pattern,
    /// The file at the path, or the program of that name.
    file: Option<Identity>,
}

impl ModuleName {
    /// Returns the name with a text. A path, and the name of a program in `PATH`, mean the file that they lead to now.
    pub fn new(text: &str) -> ModuleName {
        // /proc/PID/maps marks unlinked files so, and files in memory too.
        let text = text.strip_suffix(" (deleted)").unwrap_or(text);
        let path = if text.contains('/') { Some(PathBuf::from(text)) } else { program(text) };
        let file = path.and_then(|path| open(&path).ok()).map(|opened| opened.identity);
        ModuleName { pattern: Pattern::new(text), file }
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.pattern.text()
    }

    /// Whether the name means an image.
    pub fn matches(&self, image: &Image) -> bool {
        let own = image.origin().map(|origin| &origin.identity);
        let is_file = self.file.as_ref().zip(own).is_some_and(|(file, own)| file.is_same_file(own));
        is_file || self.matches_path(image.path())
    }

    /// Whether the name means a file by its path. The path is that of the process that maps the file.
    fn matches_path(&self, path: &Path) -> bool {
        let text = path.to_string_lossy();
        if self.pattern.matches(&text) {
            return true;
        }
        if self.text().contains('/') {
            return path.ends_with(self.text().trim_start_matches("./"));
        }
        let file = text.rsplit('/').next().unwrap_or(&text);
        short_forms(file).any(|name| self.pattern.matches(name))
    }
}

/// Returns the file of a program as the shell finds it.
fn program(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Returns the short forms of a file's name: without brackets; of a library also with each part of its version, without `.so`, and without
/// `lib`.
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
    fn a_module_is_found_by_every_usual_short_form_of_its_name() {
        let path = Path::new("/lib/x86_64-linux-gnu/libc.so.6");
        for name in ["libc", "c", "libc.so", "libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6", "lib*", "*libc.so*"] {
            assert!(ModuleName::new(name).matches_path(path), "{name}");
        }
        for name in ["libcrypt", "lib", "so", "m", "libc.", "gnu/libc.so.6"] {
            assert!(!ModuleName::new(name).matches_path(path), "{name}");
        }
        assert!(ModuleName::new("x86_64-linux-gnu/libc.so.6").matches_path(path));
        assert!(ModuleName::new("libc").matches_path(Path::new("/lib/libc-2.31.so")));
        assert!(
            ModuleName::new("vdso").matches_path(Path::new("[vdso]"))
                && ModuleName::new("[vdso]").matches_path(Path::new("[vdso]"))
        );
        assert!(ModuleName::new("ld-linux-x86-64").matches_path(Path::new("/lib64/ld-linux-x86-64.so.2")));
        assert!(ModuleName::new("x.something").matches_path(Path::new("/bin/x.something")));
        for name in ["libstdc++", "libstdc++.so", "libstdc++.so.6", "libstdc++.so.6.0", "libstdc++.so.6.0.30", "stdc++"]
        {
            assert!(ModuleName::new(name).matches_path(Path::new("/usr/lib/libstdc++.so.6.0.30")), "{name}");
        }
    }

    #[test]
    fn a_file_in_memory_is_found_with_and_without_the_kernels_marks_around_its_name() {
        for name in ["jit code", "memfd:jit code", "/memfd:jit code", "/memfd:jit code (deleted)"] {
            assert!(ModuleName::new(name).matches_path(Path::new("/memfd:jit code")), "{name}");
        }
    }

    #[test]
    fn a_path_means_the_file_that_it_leads_to() {
        let image = |path: &Path| Image::open(path).unwrap();
        let own = image(&std::env::current_exe().unwrap());
        assert!(ModuleName::new("/proc/self/exe").matches(&own));
        assert!(!ModuleName::new("/proc/self/exe").matches(&image(Path::new("/bin/sh"))));
        // sh may be a link to another shell.
        assert!(ModuleName::new("sh").matches(&image(&std::fs::canonicalize("/bin/sh").unwrap())));
    }
}
