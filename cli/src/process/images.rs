//! The ELF files of traced processes, each read once.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ubp::{Mapping, Pid, Session};

use crate::symbols::Image;

/// A file as it is mapped: replaced ones have another inode.
type Key = (PathBuf, u64);

/// All files that were looked at, the unusable ones as nothing.
#[derive(Debug, Default)]
pub(crate) struct Images {
    files: HashMap<Key, Option<Rc<Image>>>,
    vdso: HashMap<u64, Rc<Image>>,
}

impl Images {
    /// The image that a mapping is part of; `None` for memory without a usable file.
    pub(crate) fn of(&mut self, session: &mut Session, pid: Pid, map: &Mapping) -> Option<Rc<Image>> {
        let path = map.path.as_deref()?;
        if path == Path::new("[vdso]") {
            return self.vdso(session, pid, map);
        }
        if map.inode == 0 || !path.is_absolute() {
            return None;
        }
        let key = (path.to_path_buf(), map.inode);
        if let Some(known) = self.files.get(&key) {
            return known.clone();
        }
        let image = read(pid, map).and_then(|data| Image::parse(path.to_path_buf(), data).ok()).map(Rc::new);
        self.files.insert(key, image.clone());
        image
    }

    /// The code that the kernel maps has no file; its size tells the 64-bit from the 32-bit one, as good as a name.
    fn vdso(&mut self, session: &mut Session, pid: Pid, map: &Mapping) -> Option<Rc<Image>> {
        let mut data = vec![0; usize::try_from(map.end - map.start).ok()?];
        let read = session.read_memory(pid, map.start, &mut data).ok()?;
        data.truncate(read);
        let class = u64::from(*data.get(4)?);
        if let Some(image) = self.vdso.get(&class) {
            return Some(Rc::clone(image));
        }
        let image = Rc::new(Image::parse("[vdso]".into(), data).ok()?);
        self.vdso.insert(class, Rc::clone(&image));
        Some(image)
    }
}

/// The bytes of a mapped file: by its path as the process sees it, else, where that is gone or another file now, by the mapping.
fn read(pid: Pid, map: &Mapping) -> Option<Vec<u8>> {
    let path = map.path.as_deref()?;
    let in_root = PathBuf::from(format!("/proc/{pid}/root{}", path.display()));
    let by_mapping = PathBuf::from(format!("/proc/{pid}/map_files/{:x}-{:x}", map.start.0, map.end.0));
    let same = |path: &Path| fs::metadata(path).is_ok_and(|file| file.is_file() && file.ino() == map.inode);
    let exe = PathBuf::from(format!("/proc/{pid}/exe"));
    let readable = [in_root, path.to_path_buf(), by_mapping, exe];
    readable.iter().filter(|path| same(path)).find_map(|path| fs::read(path).ok())
}
