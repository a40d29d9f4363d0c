//! The ELF files of traced processes, each state of a file read once.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ubp::{Mapping, Pid, Session};

use super::{mapped, running};
use crate::files::{Identity, OpenError};
use crate::symbols::{ElfError, Image};

/// States of the file at one path that are remembered: as many programs may be built at one path, one after another.
const STATES: usize = 4;

/// A file as it was when it was read.
#[derive(Debug)]
struct State {
    identity: Identity,
    /// Another state would have another identity.
    settled: bool,
    /// Nothing where it is of no use.
    image: Option<Rc<Image>>,
}

/// All files that were looked at.
#[derive(Debug, Default)]
pub(crate) struct Images {
    files: HashMap<PathBuf, Vec<State>>,
    vdso: HashMap<u64, Rc<Image>>,
    /// Files, by device, inode and path, whose file system did not answer: it is not asked again.
    slow: HashSet<(u64, u64, PathBuf)>,
    /// Files whose code was found in memory where the mapping tells another device or inode.
    agreed: HashSet<(Identity, u64, u64)>,
    /// What is to be told of files that cannot be used, and what was.
    notes: Vec<String>,
    told: BTreeSet<String>,
}

/// Why the file of a mapping cannot be used.
enum Unusable {
    /// The path leads to none, or to another one.
    Replaced,
    Open(OpenError),
    Image(ElfError),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Replaced => f.write_str(
                " was deleted or replaced since it was mapped; with CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE what is mapped can be read",
            ),
            Unusable::Open(error) => write!(f, ": {error}"),
            Unusable::Image(error) => write!(f, ": {error}"),
        }
    }
}

impl Images {
    /// The image that a mapping among `maps` is part of; `None` for memory without a usable file.
    pub(crate) fn of(&mut self, session: &mut Session, pid: Pid, map: &Mapping, maps: &[Mapping]) -> Option<Rc<Image>> {
        let path = map.path.as_deref()?;
        if path == Path::new("[vdso]") {
            return self.vdso(session, pid, map);
        }
        if map.inode == 0 || !path.is_absolute() {
            return None;
        }
        match self.find(session, pid, map, path) {
            Ok(image) => image,
            Err(why) => {
                // Memory that is shared by way of a file without name, such as a compiler's code, is nothing to tell of.
                if is_elf(session, pid, map, maps) {
                    self.note(format!("{}{why}: no location in it is found", path.display()));
                }
                None
            }
        }
    }

    /// What is to be told of files that cannot be used, once each.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn note(&mut self, note: String) {
        if self.told.insert(note.clone()) {
            self.notes.push(note);
        }
    }

    fn find(
        &mut self,
        session: &mut Session,
        pid: Pid,
        map: &Mapping,
        path: &Path,
    ) -> Result<Option<Rc<Image>>, Unusable> {
        let key = (map.device, map.inode, path.to_path_buf());
        if self.slow.contains(&key) {
            return Err(Unusable::Open(OpenError::Slow));
        }
        let candidates = mapped::find(pid, map).map_err(|error| {
            if matches!(error, OpenError::Slow) {
                self.slow.insert(key);
            }
            Unusable::Open(error)
        })?;
        for candidate in &candidates {
            let is_mapped = |image: &Rc<Image>| running::is_mapped(session, pid, map, image);
            let image = self.read(path, candidate, is_mapped)?;
            let agreement = (candidate.opened.identity, map.device, map.inode);
            if candidate.certain || self.agreed.contains(&agreement) {
                return Ok(image);
            }
            if let Some(image) = image.filter(|image| running::is_mapped(session, pid, map, image)) {
                self.agreed.insert(agreement);
                return Ok(Some(image));
            }
        }
        Err(Unusable::Replaced)
    }

    /// The image of a file, nothing where it is no ELF file for this machine.
    fn read(
        &mut self,
        path: &Path,
        candidate: &mapped::Candidate,
        is_mapped: impl FnOnce(&Rc<Image>) -> bool,
    ) -> Result<Option<Rc<Image>>, Unusable> {
        let states = self.files.entry(path.to_path_buf()).or_default();
        let identity = candidate.opened.identity;
        if let Some(known) = states.iter().position(|state| state.identity == identity) {
            let state = &mut states[known];
            if state.settled || state.image.as_ref().is_some_and(is_mapped) {
                // Compared that late it is the state that was read, for good.
                state.settled |= identity.is_settled();
                return Ok(state.image.clone());
            }
            states.remove(known);
        }
        let unwritten = states.iter_mut().find(|state| state.identity.is_unwritten(&identity));
        let settled = identity.is_settled();
        let read = Image::read(path.into(), &candidate.opened, candidate.root.clone(), candidate.path.clone());
        let image = match read {
            Ok(image) => Some(Rc::new(image)),
            Err(ElfError::NotElf | ElfError::Foreign(_)) => None,
            Err(error) => return Err(Unusable::Image(error)),
        };
        // It was renamed, linked or given other rights.
        if let Some(state) = unwritten
            && let (Some(known), Some(image)) = (&state.image, &image)
            && known.build_id().is_some()
            && known.build_id() == image.build_id()
        {
            state.identity = identity;
            return Ok(state.image.clone());
        }
        if states.len() == STATES {
            states.remove(0);
        }
        states.push(State { identity, settled, image: image.clone() });
        Ok(image)
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

/// Whether the file of a mapping begins as an ELF file does, by what is mapped of its beginning.
fn is_elf(session: &mut Session, pid: Pid, map: &Mapping, maps: &[Mapping]) -> bool {
    let same = |other: &&Mapping| (other.device, other.inode, other.offset) == (map.device, map.inode, 0);
    let mut start = [0; 4];
    maps.iter().find(same).is_some_and(|first| {
        session.read_memory(pid, first.start, &mut start).is_ok_and(|read| read == start.len())
            && start == object::elf::ELFMAG
    })
}
