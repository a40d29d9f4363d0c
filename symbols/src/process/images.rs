//! The ELF files of traced processes. Each state of a file is read once.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ubp::{Mapping, Pid, Session};

use super::{mapped, running};
use crate::elf::{ElfError, Image};
use crate::files::{Fetch, Identity, OpenError};

/// The number of states that are kept for one path. Several programs may be built at one path, one after another.
const STATES: usize = 4;

/// One state of a file.
#[derive(Debug)]
struct State {
    identity: Identity,
    /// Whether a later state has another identity.
    settled: bool,
    /// The image. `None` if the file is not an ELF file for a supported architecture.
    image: Option<Rc<Image>>,
}

/// All files that were read.
#[derive(Debug, Default)]
pub struct Images {
    files: HashMap<PathBuf, Vec<State>>,
    vdso: HashMap<u64, Rc<Image>>,
    /// The files whose file system did not answer, by device, inode and path. They are not opened again.
    slow: HashSet<(u64, u64, PathBuf)>,
    /// The files whose code equals that in memory although the mapping states another device or inode.
    agreed: HashSet<(Identity, u64, u64)>,
    /// The messages about files that cannot be used and that have not been printed yet.
    notes: Vec<String>,
    /// All messages so far.
    told: BTreeSet<String>,
    /// What brings debug files that are not on this machine.
    fetch: Option<Fetch>,
}

/// The reason why the file of a mapping cannot be used.
enum Unusable {
    /// The path leads to no file, or to another one.
    Replaced,
    Open(OpenError),
    Image(ElfError),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Replaced => f.write_str(
                " was deleted or replaced after it was mapped; with CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE the mapped file can be read",
            ),
            Unusable::Open(error) => write!(f, ": {error}"),
            Unusable::Image(error) => write!(f, ": {error}"),
        }
    }
}

impl Images {
    /// Returns the image of a mapping, which is one of `maps`. `None` for memory without a usable file.
    pub(super) fn of(&mut self, session: &Session, pid: Pid, map: &Mapping, maps: &[Mapping]) -> Option<Rc<Image>> {
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
                // Shared memory of an unlinked file, such as the code of a just-in-time compiler, is not an ELF file and needs no message.
                if is_elf(session, pid, map, maps) {
                    self.note(format!("{}{why}: no location in it can be found", path.display()));
                }
                None
            }
        }
    }

    /// Fetches debug files that this machine does not have, for images that are read from now on.
    pub fn fetch_by(&mut self, fetch: Fetch) {
        self.fetch = Some(fetch);
    }

    /// Returns the messages about files that cannot be used. Each message is returned once.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn note(&mut self, note: String) {
        if self.told.insert(note.clone()) {
            self.notes.push(note);
        }
    }

    fn find(&mut self, session: &Session, pid: Pid, map: &Mapping, path: &Path) -> Result<Option<Rc<Image>>, Unusable> {
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

    /// Returns the image of a file. `None` if it is not an ELF file for a supported architecture.
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
                // The comparison at a settled time proves that this is the state that was read.
                state.settled |= identity.is_settled();
                return Ok(state.image.clone());
            }
            states.remove(known);
        }
        let unwritten = states.iter_mut().find(|state| state.identity.is_unwritten(&identity));
        let settled = identity.is_settled();
        let read = Image::read(path.into(), &candidate.opened, candidate.root.clone(), candidate.path.clone());
        let image = match read {
            Ok(image) => {
                self.fetch.iter().cloned().for_each(|fetch| image.fetch_by(fetch));
                Some(Rc::new(image))
            }
            Err(ElfError::NotElf | ElfError::Foreign(_)) => None,
            Err(error) => return Err(Unusable::Image(error)),
        };
        // The file was renamed or linked, or its permissions changed: a state with the same build id is the same image.
        let build_id = |image: &Option<Rc<Image>>| image.as_ref()?.build_id().map(<[u8]>::to_vec);
        let wanted = build_id(&image);
        if let Some(state) = unwritten.filter(|state| wanted.is_some() && build_id(&state.image) == wanted) {
            state.identity = identity;
            return Ok(state.image.clone());
        }
        if states.len() == STATES {
            states.remove(0);
        }
        states.push(State { identity, settled, image: image.clone() });
        Ok(image)
    }

    /// Returns the image of the vDSO, which has no file and is read from memory. There is one for each ELF class.
    fn vdso(&mut self, session: &Session, pid: Pid, map: &Mapping) -> Option<Rc<Image>> {
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

/// Whether the file of a mapping starts with the ELF magic number. The mapping of its first bytes decides.
fn is_elf(session: &Session, pid: Pid, map: &Mapping, maps: &[Mapping]) -> bool {
    let same = |other: &&Mapping| (other.device, other.inode, other.offset) == (map.device, map.inode, 0);
    let mut start = [0; 4];
    maps.iter().find(same).is_some_and(|first| {
        session.read_memory(pid, first.start, &mut start).is_ok_and(|read| read == start.len())
            && start == object::elf::ELFMAG
    })
}
