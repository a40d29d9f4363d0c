//! The instruction whose arrivals a jump counts.

use stepping::arm64::WINDOW;

use super::Space;
use super::adding::Work;
use super::reader::Reader;
use crate::arch::MAX_LEN;
use crate::ptrace::jumps::Link;
use crate::{Mapping, NoJump};

/// Bytes of code on both sides of a site that decide whether it can have a jump.
const AROUND: u64 = (WINDOW * MAX_LEN) as u64;

/// The program's code at the sites that were looked at.
#[derive(Default)]
pub(super) struct Seen {
    reader: Reader,
}

impl Space {
    /// Adds a jump at a site in a mapping to the table, and what has to be written for it to `work`.
    pub(super) fn add_jump_in(
        &mut self,
        mapping: &Mapping,
        site: u64,
        outlives: bool,
        seen: &mut Seen,
        work: &mut Work,
    ) -> Result<(), NoJump> {
        let start = site.saturating_sub(AROUND).max(mapping.start.0);
        let before = (site - start) as usize;
        let code = seen.reader.window(self, mapping, start, before + MAX_LEN + AROUND as usize);
        let draft = work.bench.draft(site, code, before)?;
        self.write_jump(draft, &Link::code_at(mapping, site), &[0], outlives, work)
    }
}
