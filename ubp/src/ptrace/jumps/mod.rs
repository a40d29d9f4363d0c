//! Jumps at sites in the place of breakpoint instructions: what the tracer knows of them.
//!
//! A jump belongs to a site that has an entry in an arena like all others: at any moment it can become a breakpoint instruction. It comes and
//! goes only while no thread of the memory runs. `trampoline` says what jump, mirror and trampoline are.

mod displacement;
mod in_order;
mod jump;
mod mirror;
mod ring;
mod scan;
mod shared;
mod slot;
mod store;
mod survey;
mod test;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use trampoline::Progress;
use trampoline::x86::{JUMP_LEN, Trap, covered};

pub(super) use self::displacement::displacements;
pub use self::in_order::JumpSurveyed;
pub(super) use self::jump::{Draft, Jump, Member, Recording, Workbench};
pub(super) use self::mirror::Mirror;
pub(super) use self::ring::{Ring, Shape};
pub(super) use self::scan::{Found, KEPT, LOOK, Sweep, Window, scan};
pub(super) use self::shared::Shared;
pub(super) use self::slot::{Detail, SITES, Stack, Windows, stack_room};
pub(super) use self::store::{Need, Store};
pub use self::survey::{JumpCode, JumpSurvey};
pub(super) use self::test::Test;

/// Bytes of a jump.
pub(super) const LENGTH: u64 = JUMP_LEN as u64;
/// How often threads may enter the run of a jump at one address before the jump ends there.
const ENTRIES: u32 = 32;

/// The place of a pc outside of the program's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// In the mirror, at the jump of this site.
    Mirror(u64),
    /// In the trampoline of the jump at this site, at this offset.
    Trampoline(u64, u16),
}

/// The jumps of one address space.
#[derive(Clone, Debug, Default)]
pub(super) struct Jumps {
    /// By site. Forked children share them.
    heads: BTreeMap<u64, Arc<Jump>>,
    /// How often threads have entered the run of a jump behind its beginning, by address.
    entries: HashMap<u64, u32>,
    /// The addresses where this happened too often.
    entered: BTreeSet<u64>,
    /// The sites, by the addresses of their trampolines.
    trampolines: BTreeMap<u64, u64>,
    pub(super) mirrors: Vec<Mirror>,
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

    /// The jump whose run a thread entered that trapped at `pc`, by a trap of this kind, and the offset of the byte.
    pub(super) fn entered(&self, kind: Trap, pc: u64) -> Option<(&Jump, u8)> {
        let at = pc.wrapping_sub(kind.distance());
        let jump = self.over(at)?;
        let is_further = || kind == Trap::Breakpoint && jump.is_further(at);
        let further = || is_further().then(|| (at - jump.site) as u8);
        Some((jump, covered(jump.site, jump.displacement, kind, pc).or_else(further)?))
    }

    /// Notes that a thread entered the run of a jump at an address. Returns whether that happened too often.
    pub(super) fn note_entered(&mut self, address: u64) -> bool {
        let entries = self.entries.entry(address).or_default();
        *entries = entries.saturating_add(1);
        let is_often = *entries % ENTRIES == 0;
        if is_often {
            self.entered.insert(address);
        }
        is_often
    }

    /// The addresses at which threads have entered runs too often.
    pub(super) fn all_entered(&self) -> &BTreeSet<u64> {
        &self.entered
    }

    /// Where a thread continues that comes to an address at which a trampoline counts.
    pub(super) fn entry(&self, address: u64) -> Option<u64> {
        let jump = self.of_member(address)?;
        jump.trampoline.entry((address - jump.site) as u8)
    }

    /// Where in a mirror or a trampoline a thread is.
    pub(super) fn inside(&self, pc: u64) -> Option<Inside> {
        if let Some((&at, &site)) = self.trampolines.range(..=pc).next_back() {
            let offset = pc - at;
            if self.heads.get(&site).is_some_and(|jump| offset < jump.trampoline.len() as u64) {
                return Some(Inside::Trampoline(site, offset as u16));
            }
        }
        let mirror = self.mirrors.iter().find(|mirror| mirror.range.contains(&pc))?;
        let site = mirror.site(pc);
        self.heads.contains_key(&site).then_some(Inside::Mirror(site))
    }

    /// The jump whose trampoline stopped a thread with this pc, and the site at which it did.
    pub(super) fn stopped(&self, pc: u64) -> Option<(&Jump, u64)> {
        let Inside::Trampoline(site, _) = self.inside(pc.wrapping_sub(1))? else { return None };
        let jump = self.heads.get(&site)?;
        Some((jump, site + u64::from(jump.trampoline.stopped(pc)?)))
    }

    /// The pc in the program of a thread in a mirror or a trampoline, and whether the thread has come there by an instruction that is none of the
    /// program's.
    pub(super) fn original(&self, pc: u64) -> Option<(u64, bool)> {
        match self.inside(pc)? {
            Inside::Mirror(site) => Some((site, true)),
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
        let mirrors = self.mirrors.iter().map(|mirror| (mirror.range.start, mirror.range.end));
        mirrors.chain(self.stores.iter().flat_map(Store::mappings))
    }
}
