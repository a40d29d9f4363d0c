//! Jumps at sites in the place of breakpoint instructions: what the tracer knows of them.
//!
//! A jump belongs to a site that has an entry in an arena like all others: at any moment it can become a breakpoint instruction. It comes and
//! goes only while no thread of the memory runs. `trampoline` says what jump, mirror and trampoline are.

#[cfg(target_arch = "aarch64")]
#[path = "arm64/mod.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86/mod.rs"]
mod arch;
pub(super) mod code;
mod jump;
mod member;
mod ring;
mod shared;
mod slot;
mod store;
mod sum;
mod test;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use trampoline::Progress;

pub(super) use self::arch::{ANSWERED, Covering, Draft, KEPT, LENGTH, Link, ONLY_COUNTS, Place, Workbench, fixups};
pub use self::code::{JumpCode, JumpSurvey, JumpSurveyed};
pub(super) use self::jump::Jump;
pub(super) use self::member::{Member, Recording};
pub(super) use self::ring::{Ring, Shape};
pub(super) use self::shared::Shared;
pub(super) use self::slot::{Detail, SITES, Stack, Windows, stack_room};
pub(super) use self::store::{Need, Store};
pub(super) use self::sum::{Row, Sum, Taken};
pub(super) use self::test::Test;

/// The place of a pc outside of the program's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// On the way from this site to its trampoline.
    Link(u64),
    /// In the trampoline of the jump at this site, at this offset.
    Trampoline(u64, u16),
}

/// The jumps of one address space.
#[derive(Clone, Debug, Default)]
pub(super) struct Jumps {
    /// By site. Forked children share them.
    heads: BTreeMap<u64, Arc<Jump>>,
    /// The sites, by the addresses of their trampolines.
    trampolines: BTreeMap<u64, u64>,
    pub(super) covering: Covering,
    pub(super) stores: Vec<Store>,
}

impl Jumps {
    pub(super) fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// The sites with a jump.
    pub(super) fn sites(&self) -> impl Iterator<Item = u64> {
        self.heads.keys().copied()
    }

    /// The jump at a site.
    pub(super) fn get(&self, site: u64) -> Option<&Jump> {
        self.heads.get(&site).map(Arc::as_ref)
    }

    /// All jumps.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Jump> {
        self.heads.values().map(Arc::as_ref)
    }

    /// The jumps whose trampolines sum hits up.
    pub(super) fn summing(&self) -> impl Iterator<Item = &Jump> {
        let has_rows = self.stores.iter().any(|store| store.has_rows);
        self.iter().filter(move |jump| has_rows && jump.members.iter().any(|member| member.sum.is_some()))
    }

    /// The jump whose trampoline runs the instruction at an address.
    pub(super) fn over(&self, address: u64) -> Option<&Jump> {
        // No other jump begins in the instructions of one.
        let (_, jump) = self.heads.range(..=address).next_back()?;
        (address < jump.end()).then_some(jump.as_ref())
    }

    /// The sites of the jumps that lie in `range`, or whose bytes or further code, up to `reach` bytes, do.
    pub(super) fn touching(&self, range: Range<u64>, reach: u64) -> impl Iterator<Item = &Jump> {
        let from = range.start.saturating_sub(reach.max(64));
        let touches = move |jump: &&Jump| jump.site < range.end && jump.site + reach.max(jump.len()) > range.start;
        self.heads
            .range(from..)
            .take_while(move |(site, _)| **site < range.end)
            .map(|(_, jump)| jump.as_ref())
            .filter(touches)
    }

    /// The jump that counts arrivals at a site: that of the site itself, or one before it.
    pub(super) fn of_member(&self, site: u64) -> Option<&Jump> {
        self.over(site).filter(|jump| jump.member(site).is_some())
    }

    pub(super) fn add(&mut self, jump: Jump) {
        self.trampolines.insert(jump.trampoline.at(), jump.site);
        if let Some(store) = self.stores.get_mut(jump.store) {
            store.jumps += 1;
        }
        self.heads.insert(jump.site, jump.into());
    }

    /// Forgets a jump. No thread may be in its trampoline.
    pub(super) fn remove(&mut self, site: u64) {
        let Some(jump) = self.heads.remove(&site) else { return };
        self.trampolines.remove(&jump.trampoline.at());
        if let Some(store) = self.stores.get_mut(jump.store) {
            store.jumps = store.jumps.saturating_sub(1);
        }
    }

    /// Where a thread continues that comes to an address at which a trampoline counts.
    pub(super) fn entry(&self, address: u64) -> Option<u64> {
        let jump = self.of_member(address)?;
        jump.trampoline.entry((address - jump.site) as u8)
    }

    /// Where outside of the program's code a thread is.
    pub(super) fn inside(&self, pc: u64) -> Option<Inside> {
        if let Some((&at, &site)) = self.trampolines.range(..=pc).next_back() {
            let offset = pc - at;
            if self.heads.get(&site).is_some_and(|jump| offset < jump.trampoline.len() as u64) {
                return Some(Inside::Trampoline(site, offset as u16));
            }
        }
        self.covering.site(pc).filter(|site| self.heads.contains_key(site)).map(Inside::Link)
    }

    /// The jump whose trampoline stopped a thread with this pc, and the site at which it did.
    pub(super) fn stopped(&self, pc: u64) -> Option<(&Jump, u64)> {
        let Inside::Trampoline(site, _) = self.inside(pc.wrapping_sub(1))? else { return None };
        let jump = self.heads.get(&site)?;
        Some((jump, site + u64::from(jump.trampoline.stopped(pc)?)))
    }

    /// The pc in the program of a thread outside of the program's code, and whether the thread has come there by an instruction that is none of the
    /// program's.
    pub(super) fn original(&self, pc: u64) -> Option<(u64, bool)> {
        match self.inside(pc)? {
            Inside::Link(site) => Some((site, true)),
            Inside::Trampoline(site, offset) => {
                let place = self.get(site)?.place(offset)?;
                Some((place.pc, place.own || place.progress != Progress::Before))
            }
        }
    }

    /// Whether a pc lies in the bytes of a jump behind its first one, or right behind them: a trap may be due there.
    pub(super) fn is_covered(&self, pc: u64) -> bool {
        let before = pc.wrapping_sub(1);
        self.over(before).is_some_and(|jump| before - jump.site < LENGTH)
    }

    /// Where the tracer's mappings lie.
    pub(super) fn mappings(&self) -> impl Iterator<Item = (u64, u64)> {
        self.covering.mappings().chain(self.stores.iter().flat_map(Store::mappings))
    }
}
