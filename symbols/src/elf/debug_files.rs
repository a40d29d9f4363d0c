//! Finds separate debug files, which distributions place as gdb's manual describes ("Debugging Information in Separate Files").
//!
//! They are searched below the root of the process that maps the image, and by build id also in the root of this process and in the cache
//! of debuginfod's client. A caller that gives a way to fetch files is asked last. The image names the files to open, so a file is used only
//! if its build id or checksum matches.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Object;

use super::contents::{contents, unxz};
use super::file::{Elf, Origin};
use super::headers::{Parsed, parse};
use crate::files::{Fetch, OpenError, Opened, Root, Source, is_plain};

/// The folder of debug files below a root.
const FOLDER: &str = "/usr/lib/debug";
/// The largest file whose checksum is computed, in bytes.
const LARGEST_SUMMED: u64 = 1 << 30;
/// The number of bytes that the checksum reads at once.
const CHUNK: u64 = 1 << 20;

/// Returns the debug file of `elf`: by build id, else by the link in the file.
pub(crate) fn find(elf: &Elf) -> Option<Source> {
    let origin = elf.origin()?;
    if let Some(found) = elf.build_id().and_then(|id| by_build_id(&origin.root, id)) {
        return Some(found);
    }
    let link = |file: &Parsed<'_>| file.gnu_debuglink().ok().flatten().map(|(name, sum)| (name.to_vec(), sum));
    let (name, checksum) = elf.with_file(link)??;
    let matches = |source: &Source| match (elf.build_id(), build_id_of(source)) {
        (Some(wanted), Some(own)) => wanted == own,
        _ => sum(source) == Some(checksum),
    };
    let places = linked(origin, OsStr::from_bytes(&name)).into_iter();
    let opened = places.filter_map(|path| match origin.root.open(&path) {
        Ok(opened) => Some(opened),
        Err(OpenError::Io(_)) => None,
        Err(error) => {
            elf.source().note_refused(format!("its debug file {} is not read: {error}", path.display()));
            None
        }
    });
    // A link that names the file itself means a file in another folder.
    let others = opened.filter(|opened: &Opened| !opened.identity.is_same_file(&origin.identity));
    others.map(|opened| Source::file(&opened)).find(matches)
}

/// Returns the debug file of `elf` by build id from elsewhere. An image without a file has none.
pub(crate) fn fetch(elf: &Elf, fetch: &Fetch) -> Option<Source> {
    elf.origin()?;
    fetched(elf, elf.build_id()?, fetch)
}

fn fetched(elf: &Elf, id: &[u8], fetch: &Fetch) -> Option<Source> {
    opened_as(&Root::own().ok()?, &fetch.bring(id, elf.path())?, id)
}

/// Returns the file with the debug information that several debug files share (`dwz`).
pub(crate) fn supplement(elf: &Elf, debug: &Source, fetch: Option<&Fetch>) -> Option<Source> {
    let root = &elf.origin()?.root;
    let file = parse(debug).ok()?;
    let (name, id) = file.gnu_debugaltlink().ok().flatten()?;
    let name = Path::new(OsStr::from_bytes(name));
    let here = by_build_id(root, id).or_else(|| opened_as(root, name, id).filter(|_| name.is_absolute()));
    here.or_else(|| fetched(elf, id, fetch?))
}

/// Returns the compressed symbols that distributions leave in a stripped file (`.gnu_debugdata`).
pub(crate) fn mini(elf: &Elf) -> Option<Source> {
    let packed =
        elf.with_file(|file| file.section_by_name(".gnu_debugdata").map(|section| contents(elf.source(), &section)))??;
    unxz(elf.source(), &packed).map(Source::memory)
}

fn build_id_of(source: &Source) -> Option<Vec<u8>> {
    parse(source).ok()?.build_id().ok().flatten().map(<[u8]>::to_vec)
}

/// Returns the file with a build id: below a root, in the root of this process, or in the cache of debuginfod's client.
fn by_build_id(root: &Root, id: &[u8]) -> Option<Source> {
    let (first, rest) = id.split_first()?;
    let (whole, rest) = (digits(id), digits(rest));
    let path = PathBuf::from(format!("{FOLDER}/.build-id/{first:02x}/{rest}.debug"));
    let fetched = caches(|name| std::env::var_os(name)).into_iter().map(|cache| cache.join(&whole).join("debuginfo"));
    let own = || {
        let own = Root::own().ok()?;
        [path.clone()].into_iter().chain(fetched).find_map(|path| opened_as(&own, &path, id))
    };
    opened_as(root, &path, id).or_else(own)
}

/// Returns lower-case hexadecimal digits.
fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the cache folders of debuginfod's client (debuginfod_find_debuginfo(3)). They have a folder for each build id. `variable`
/// returns a variable of the environment.
fn caches(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let folder = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(chosen) = folder("DEBUGINFOD_CACHE_PATH") {
        return vec![chosen];
    }
    let home = folder("HOME");
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(home.as_ref()?.join(".cache")));
    let current = cache.map(|cache| cache.join("debuginfod_client"));
    // The first versions of the client use only this folder.
    let old = home.map(|home| home.join(".debuginfod_client_cache"));
    current.into_iter().chain(old).collect()
}

/// Returns the file at a path if it has the build id.
fn opened_as(root: &Root, path: &Path, id: &[u8]) -> Option<Source> {
    let source = Source::file(&root.open(path).ok()?);
    (build_id_of(&source)? == id).then_some(source)
}

/// Returns the possible paths of a file that a link names.
fn linked(origin: &Origin, name: &OsStr) -> Vec<PathBuf> {
    let Some(folder) = origin.path.parent().filter(|_| is_plain(name)) else { return Vec::new() };
    let under_root = Path::new(FOLDER).join(folder.strip_prefix("/").unwrap_or(folder)).join(name);
    vec![folder.join(name), folder.join(".debug").join(name), under_root]
}

/// Returns the checksum of a whole file in the form that links have. `None` for a file that is too large.
fn sum(source: &Source) -> Option<u32> {
    if source.size() > LARGEST_SUMMED {
        return None;
    }
    let mut hasher = crc32fast::Hasher::new();
    let mut at = 0;
    while at < source.size() {
        let size = CHUNK.min(source.size() - at);
        hasher.update(&source.look(at, size)?);
        at += size;
    }
    Some(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_debuginfod_fetched_lies_where_the_environment_says_else_in_the_users_cache() {
        let caches = |variables: &[(&str, &str)]| {
            let variable =
                |name: &str| variables.iter().find(|known| known.0 == name).map(|known| OsString::from(known.1));
            super::caches(variable).iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(caches(&[("HOME", "/h"), ("DEBUGINFOD_CACHE_PATH", "/d")]), ["/d"]);
        assert_eq!(caches(&[("HOME", "/h")]), ["/h/.cache/debuginfod_client", "/h/.debuginfod_client_cache"]);
        assert_eq!(
            caches(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c"), ("DEBUGINFOD_CACHE_PATH", "")]),
            ["/c/debuginfod_client", "/h/.debuginfod_client_cache"]
        );
        assert_eq!(caches(&[]), [""; 0]);
    }
}
