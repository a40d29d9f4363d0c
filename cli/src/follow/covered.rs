//! The basic blocks that the user asked for, and those that were executed in any process.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::rc::Rc;

use ubp::{BreakpointId, Pid, Session};
use ubp_symbols::{Image, Module};

use crate::process::Space;

/// The blocks of all images, by the number of the image.
#[derive(Debug, Default)]
pub(crate) struct Covered {
    images: BTreeMap<u64, CoveredImage>,
    /// The file of the program itself.
    own: Option<PathBuf>,
    /// The breakpoints whose hits are in `images`. The session keeps them after an exec, when other code is at their addresses.
    noted: HashSet<(Pid, BreakpointId)>,
}

/// The blocks of one image. Each is named by its first address in the file.
#[derive(Debug)]
pub(crate) struct CoveredImage {
    pub(crate) image: Rc<Image>,
    /// The blocks that had a breakpoint in some process.
    pub(crate) asked: BTreeSet<u64>,
    /// The blocks that were executed.
    pub(crate) executed: BTreeSet<u64>,
    /// The number of blocks that can have no breakpoint.
    pub(crate) refused: usize,
}

impl Covered {
    /// The images with blocks.
    pub(crate) fn images(&self) -> impl Iterator<Item = &CoveredImage> {
        self.images.values()
    }

    /// Whether a module is that of the program's own file. `program` is the module that the process executed. The first one is the program.
    pub(super) fn is_own(&mut self, program: Option<&Module>, module: &Module) -> bool {
        if self.own.is_none() {
            self.own = program.map(|program| program.image.path().to_path_buf());
        }
        self.own.as_deref() == Some(module.image.path())
    }

    /// Notes that the user asks for a block. Returns whether it is unknown if the block is executed.
    pub(super) fn ask(&mut self, module: &Module, address: u64) -> bool {
        let image = self.images.entry(module.image.number()).or_insert_with(|| CoveredImage {
            image: Rc::clone(&module.image),
            asked: BTreeSet::new(),
            executed: BTreeSet::new(),
            refused: 0,
        });
        let block = module.in_file(address);
        image.asked.insert(block);
        !image.executed.contains(&block)
    }

    /// Notes that a block can have no breakpoint.
    pub(super) fn refuse(&mut self, module: Option<&Module>, address: u64) {
        let Some(module) = module else { return };
        if let Some(image) = self.images.get_mut(&module.image.number()) {
            image.refused += usize::from(image.asked.remove(&module.in_file(address)));
        }
    }

    /// Notes the blocks that a process has executed so far.
    pub(super) fn note(&mut self, session: &Session, space: &Space) {
        if self.images.is_empty() {
            return;
        }
        let reached = |id: &BreakpointId| !space.roles.contains_key(id);
        for breakpoint in session.breakpoints(space.pid).filter(|one| one.hits() > 0 && reached(&one.id())) {
            let address = breakpoint.address().0;
            if !self.noted.insert((space.pid, breakpoint.id())) {
                continue;
            }
            let gone = || space.modules.gone().iter().find(|module| module.contains(address));
            let Some(module) = space.module(address).or_else(gone) else { continue };
            if let Some(image) = self.images.get_mut(&module.image.number()) {
                image.executed.insert(module.in_file(address));
            }
        }
    }

    /// Forgets the breakpoints of a process that has ended.
    pub(super) fn forget(&mut self, pid: Pid) {
        self.noted.retain(|(known, _)| *known != pid);
    }
}
