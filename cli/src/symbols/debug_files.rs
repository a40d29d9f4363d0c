//! Separate debug files, as distributions lay them out (gdb's manual, "Debugging Information in Separate Files").

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::{Object, ObjectSection};

use super::contents::unxz;
use super::image::Image;

const ROOT: &str = "/usr/lib/debug";

/// The debug file of `image`: by build id, else by the link that the image names.
pub(crate) fn find(image: &Image) -> Option<Arc<[u8]>> {
    let (build_id, link) = image.with_file(|file| {
        let build_id = file.build_id().ok().flatten().map(<[u8]>::to_vec);
        let link = file.gnu_debuglink().ok().flatten().map(|(name, crc)| (name.to_vec(), crc));
        (build_id, link)
    })?;
    if let Some(id) = &build_id
        && let Some(data) = read(&by_build_id(id)?)
    {
        return Some(data);
    }
    let (name, crc) = link?;
    let matches = |data: &Arc<[u8]>| {
        let own = object::File::parse(&**data).ok().and_then(|file| file.build_id().ok().flatten().map(<[u8]>::to_vec));
        match (&build_id, &own) {
            (Some(wanted), Some(own)) => wanted == own,
            _ => crc32fast::hash(data) == crc,
        }
    };
    linked(image.path(), OsStr::from_bytes(&name)).iter().filter_map(|path| read(path)).find(matches)
}

/// The file that holds what several debug files share (`dwz`).
pub(crate) fn supplement(debug: &[u8]) -> Option<Arc<[u8]>> {
    let file = object::File::parse(debug).ok()?;
    let (name, id) = file.gnu_debugaltlink().ok().flatten()?;
    let by_name = PathBuf::from(OsStr::from_bytes(name));
    by_build_id(id).and_then(|path| read(&path)).or_else(|| by_name.is_absolute().then(|| read(&by_name)).flatten())
}

/// The symbols that distributions leave in a stripped file, compressed (`.gnu_debugdata`).
pub(crate) fn mini(image: &Image) -> Option<Vec<u8>> {
    let packed = image.with_file(|file| {
        let section = file.section_by_name(".gnu_debugdata")?;
        section.data().ok().map(<[u8]>::to_vec)
    })??;
    unxz(&packed)
}

fn by_build_id(id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first()?;
    let rest = crate::explain::hex::plain(rest);
    Some(PathBuf::from(format!("{ROOT}/.build-id/{first:02x}/{rest}.debug")))
}

fn linked(path: &Path, name: &OsStr) -> Vec<PathBuf> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let Some(folder) = path.parent() else { return Vec::new() };
    let under_root = Path::new(ROOT).join(folder.strip_prefix("/").unwrap_or(folder)).join(name);
    let beside = folder.join(name);
    // A link to the file's own name means elsewhere.
    let beside = (beside != path).then_some(beside);
    beside.into_iter().chain([folder.join(".debug").join(name), under_root]).collect()
}

/// Files only: what a link names may be a device or a pipe, which never ends.
fn read(path: &Path) -> Option<Arc<[u8]>> {
    std::fs::metadata(path).ok().filter(|metadata| metadata.is_file())?;
    std::fs::read(path).ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_a_device_is_not_read() {
        assert_eq!(read(Path::new("/dev/zero")), None);
        assert!(read(Path::new("/proc/self/exe")).is_some());
    }
}
