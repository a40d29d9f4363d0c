//! What a tracer that was killed left in a process: its storage becomes ours, and its breakpoint instructions go.

use super::Tracer;
use super::arch;
use super::mirror::Mirror;
use super::space::Space;
use crate::core::{Arena, Layout};
use crate::process::read_maps;
use crate::{Mapping, Pid, Result};

impl Tracer {
    /// Takes over what there is in a process that was just attached to.
    pub(super) fn take_over(&mut self, pid: Pid) -> Result<()> {
        let maps = read_maps(pid)?;
        let space = self.space_of_mut(pid)?;
        let code = arch::answer(space.arch).code;
        let is_page = |mapping: &&Mapping| {
            let mut there = vec![0; code.len()];
            is_storage(mapping) && space.memory.read(mapping.start.0, &mut there) == code.len() && there == code
        };
        let Some(page) = maps.iter().find(is_page).map(|mapping| mapping.start.0) else { return Ok(()) };
        space.answer = Some(page);
        space.guarded = arch::guarded(pid);
        for base in space.named_arenas() {
            if let Some(mapping) = maps.iter().find(|mapping| mapping.start.0 == base && is_storage(mapping)) {
                space.take_over_arena(mapping);
            }
        }
        let sites: Vec<u64> = space.sites.keys().copied().collect();
        space.disarm(&maps, &sites);
        space.name_arenas();
        self.hide_storage(pid)
    }
}

/// Whether a mapping may be one of a tracer's.
fn is_storage(mapping: &Mapping) -> bool {
    mapping.execute && mapping.read && !mapping.write && !mapping.shared && mapping.path.is_none()
}

impl Space {
    /// Reads an arena that another tracer made; one that is none, or of another version, stays where it is.
    fn take_over_arena(&mut self, mapping: &Mapping) {
        let (base, length) = (mapping.start.0, mapping.end.0 - mapping.start.0);
        let layout = self.memory.read_array(base).and_then(|header| Layout::of_header(&header));
        let Some(layout) = layout.filter(|layout| layout.size() <= length) else { return };
        let mut bytes = vec![0; layout.size() as usize];
        if self.memory.read(base, &mut bytes) != bytes.len() {
            return;
        }
        let arena = Arena::open(Mirror::of(bytes), base, layout);
        let guarded = self.is_guarded(base);
        self.add_storage(arena, guarded, None);
        self.enter_taken_over();
    }
}
