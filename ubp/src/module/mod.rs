//! Modules: the ELF files that are mapped as code in a process, by what memory holds of them.
//!
//! Headers and notes are read from memory and not from the file at the module's path, which may be another one by now. Memory belongs to the
//! program: each number in it may be wrong, so the parts that are read have limits, and a module whose headers make no sense is left out.

mod build_id;
mod headers;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

pub use self::build_id::BuildId;
use self::headers::{Headers, Load, PAGE};
use crate::memory::Read;
use crate::{Address, Mapping};

/// The kernel's name for the mapping of the vDSO (vdso(7)).
const VDSO: &str = "[vdso]";

/// An ELF file that is mapped as code in a process, or the vDSO.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Module {
    /// The path of the file, as /proc/PID/maps tells it; `[vdso]` for the vDSO.
    pub path: PathBuf,
    /// The file is unlinked.
    pub deleted: bool,
    /// The first byte of the first mapping.
    pub start: Address,
    /// The first byte after the last mapping. Memory between two mappings may belong to something else.
    pub end: Address,
    /// The mappings of code, ascending.
    pub code: Vec<Range<Address>>,
    /// The difference between addresses in memory and addresses in the file (`p_vaddr`, `st_value`): 0 for a file that is not
    /// position-independent. Add it wrapping, or by [`Module::in_memory`].
    pub bias: u64,
    /// Device of the file, in the form of [`Mapping::device`].
    pub device: u64,
    /// Inode of the file; 0 for the vDSO.
    pub inode: u64,
    /// The build ID in memory (`NT_GNU_BUILD_ID`), if the linker wrote one. It identifies the file that is mapped, even if the path leads to
    /// another file by now.
    pub build_id: Option<BuildId>,
    /// Addresses have 32 bits (`ELFCLASS32`).
    narrow: bool,
}

impl Module {
    /// Whether a mapping of the module's code contains `address`.
    pub fn contains(&self, address: Address) -> bool {
        self.code.iter().any(|range| range.contains(&address))
    }

    /// The address in memory of an address in the file.
    pub fn in_memory(&self, address: u64) -> Address {
        Address(self.masked(address.wrapping_add(self.bias)))
    }

    /// The address in the file of an address in memory.
    pub fn in_file(&self, address: Address) -> u64 {
        self.masked(address.0.wrapping_sub(self.bias))
    }

    fn masked(&self, address: u64) -> u64 {
        if self.narrow { address & 0xffff_ffff } else { address }
    }
}

/// The modules that came and went between two looks at a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// New modules, and those with other code mapped than before.
    pub(crate) loaded: Vec<Module>,
    /// Modules that are gone.
    pub(crate) unloaded: Vec<Module>,
}

impl Changes {
    /// Compares two lists of modules.
    pub(crate) fn between(before: &[Module], now: &[Module]) -> Changes {
        let place = |module: &Module| (module.start, module.device, module.inode);
        let old: HashMap<_, _> = before.iter().map(|module| (place(module), module)).collect();
        let new: HashSet<_> = now.iter().map(place).collect();
        Changes {
            loaded: now.iter().filter(|module| old.get(&place(module)) != Some(module)).cloned().collect(),
            unloaded: before.iter().filter(|module| !new.contains(&place(module))).cloned().collect(),
        }
    }
}

/// A module whose mappings are being collected.
struct Candidate {
    module: Module,
    loads: Vec<Load>,
}

impl Candidate {
    /// The module whose ELF header a mapping begins with.
    fn at(map: &Mapping, path: &Path, read: &Read<'_>) -> Option<Candidate> {
        // The first page mostly holds the headers and the notes: one read serves them all.
        let mut page = vec![0; PAGE as usize];
        let got = read(map.start.0, &mut page);
        page.truncate(got);
        let read = |at: u64, buffer: &mut [u8]| {
            let offset = usize::try_from(at.wrapping_sub(map.start.0)).ok();
            let known = offset.and_then(|offset| page.get(offset..)?.get(..buffer.len()));
            match known {
                Some(known) => {
                    buffer.copy_from_slice(known);
                    known.len()
                }
                None => read(at, buffer),
            }
        };
        let Headers { narrow, loads, notes } = Headers::read(map.start.0, &read)?;
        let first = loads.iter().find(|load| load.offset < PAGE)?;
        let bias = map.start.0.wrapping_sub(first.address.wrapping_sub(first.offset));
        let module = Module {
            path: path.to_path_buf(),
            deleted: map.deleted,
            start: map.start,
            end: map.start,
            code: Vec::new(),
            bias: if narrow { bias & 0xffff_ffff } else { bias },
            device: map.device,
            inode: map.inode,
            build_id: None,
            narrow,
        };
        let id = notes.iter().find_map(|note| headers::build_id(module.in_memory(note.address).0, note, &read));
        // The offsets of a file that lies in another one count from its header.
        let loads =
            loads.into_iter().map(|load| Load { offset: load.offset.wrapping_add(map.offset), ..load }).collect();
        Some(Candidate { module: Module { build_id: id, ..module }, loads })
    }

    /// Whether a mapping of the file is a part of the module: it begins where the headers say that its part of the file lies.
    fn holds(&self, map: &Mapping) -> bool {
        self.loads.iter().any(|load| {
            let start = self.module.in_memory(load.address).0;
            let place = map.start.0.wrapping_sub(start);
            map.offset.wrapping_sub(load.offset) == place
                && map.end.0 > start
                && (map.start.0 <= start || place < load.size)
        })
    }

    fn add(&mut self, map: &Mapping) {
        self.module.end = self.module.end.max(map.end);
        if map.execute {
            self.module.code.push(map.start..map.end);
        }
    }
}

/// Returns the modules in a memory map, ascending.
pub(crate) fn modules(maps: &[Mapping], read: &Read<'_>) -> Vec<Module> {
    let mut candidates: Vec<Candidate> = Vec::new();
    // The last candidate of each file.
    let mut last: HashMap<(u64, u64, &Path), usize> = HashMap::new();
    for map in maps {
        let Some(path) = map.path.as_deref().filter(|path| map.inode != 0 || *path == Path::new(VDSO)) else {
            continue;
        };
        let file = (map.device, map.inode, path);
        let known = last.get(&file).and_then(|&number| candidates.get_mut(number)).filter(|known| known.holds(map));
        if let Some(known) = known {
            known.add(map);
        } else if let Some(mut new) = Candidate::at(map, path, read) {
            new.add(map);
            last.insert(file, candidates.len());
            candidates.push(new);
        }
    }
    // A program may map any file to read it.
    candidates.into_iter().map(|candidate| candidate.module).filter(|module| !module.code.is_empty()).collect()
}

#[cfg(test)]
mod tests;
