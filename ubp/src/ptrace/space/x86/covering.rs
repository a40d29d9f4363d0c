//! The instructions that a jump covers, and those behind them whose arrivals it counts too.

use super::Space;
use super::adding::Work;
use super::reader::Reader;
use crate::ptrace::arch::{jump_mode, may_have_shadow_stacks};
use crate::ptrace::jumps::code::scan::{Found, LOOK, Sweep, Window, scan};
use crate::ptrace::jumps::{Draft, LENGTH, Link};
use crate::{Address, Mapping, NoJump};

/// The program's code at the sites that were looked at.
#[derive(Default)]
pub(super) struct Seen {
    reader: Reader,
    sweep: Sweep,
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
        let mode = jump_mode(self.arch, self.mode).ok_or(NoJump::Architecture)?;
        if mapping.end.0 - site < LENGTH {
            return Err(NoJump::End);
        }
        let window = Window { site, code: seen.reader.window(self, mapping, site, LOOK), mode };
        let found = scan(&window, &mut seen.sweep, self.jumps.covering.all_entered())?;
        let draft = Draft { site, code: window.kept().into(), mode, shadow_stack: may_have_shadow_stacks() };
        let code = Link::code_at(mapping, site);
        let covered = self.covered_members(site, &found, outlives)?;
        let further = self.further_members(site, &found, outlives);
        if !further.is_empty() {
            let all: Vec<u8> = covered.iter().copied().chain(further).collect();
            if self.write_jump(draft.clone(), &code, &all, outlives, work).is_ok() {
                return Ok(());
            }
        }
        self.write_jump(draft, &code, &covered, outlives, work)
    }

    /// The offset of a jump at `site`, and those of the sites among its bytes.
    fn covered_members(&self, site: u64, (covered, _): &Found, outlives: bool) -> Result<Vec<u8>, NoJump> {
        let mut offsets = vec![0];
        for (&other, _) in self.sites.range(site + 1..site + LENGTH) {
            let offset = (other - site) as u8;
            if !covered.contains(&offset) || !self.can_be_member(other, outlives) {
                return Err(NoJump::TooClose(Address(other)));
            }
            offsets.push(offset);
        }
        Ok(offsets)
    }

    /// The offsets of the sites behind the bytes of a jump at `site`, as long as each instruction there has one.
    fn further_members(&self, site: u64, (_, further): &Found, outlives: bool) -> Vec<u8> {
        let is_member = |offset: &u8| self.can_be_member(site + u64::from(*offset), outlives);
        further.iter().copied().take_while(is_member).collect()
    }

    /// Whether the trampoline of a jump before a site can count the arrivals there.
    fn can_be_member(&self, site: u64, outlives: bool) -> bool {
        self.jumps.of_member(site).is_none() && self.can_count(site, outlives).is_ok()
    }
}
