//! Source files: their paths, and the addresses of their lines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// The lines of a source file.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct LineSearch {
    /// Whether the debug information names the file.
    pub file_known: bool,
    /// The start addresses of each line.
    pub lines: BTreeMap<u64, BTreeSet<u64>>,
}

/// Whether the last components of `path` are those of `wanted`.
pub(super) fn ends_with(path: &str, wanted: &str) -> bool {
    straight(path).ends_with(straight(wanted))
}

/// Returns a path without `.`, and without `..` after a folder's name. Compilers write paths as they are called (`obj/../src/./a.c`).
fn straight(path: &str) -> PathBuf {
    let mut straight = PathBuf::new();
    for part in Path::new(path).components() {
        let goes_back =
            part == Component::ParentDir && matches!(straight.components().next_back(), Some(Component::Normal(_)));
        match part {
            Component::CurDir => {}
            _ if goes_back => {
                straight.pop();
            }
            part => straight.push(part),
        }
    }
    straight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_matches_by_whole_last_parts_of_its_path() {
        assert!(ends_with("/src/coreutils/src/ls.c", "ls.c"));
        assert!(ends_with("/src/coreutils/src/ls.c", "src/ls.c"));
        assert!(ends_with("/src/coreutils/src/ls.c", "./src/ls.c"));
        assert!(ends_with("/src/coreutils/obj/.././src/ls.c", "coreutils/src/ls.c"));
        assert!(ends_with("/src/coreutils/src/ls.c", "src/../src/ls.c"));
        assert!(!ends_with("/src/coreutils/src/ls.c", "s.c"));
    }
}
