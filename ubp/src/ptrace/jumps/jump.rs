//! One jump, and its trampoline.

use insn::x86::{Mode, decode};
use trampoline::x86::{
    Action, Clause, Displacement, Field, JUMP_LEN, Place, Probe, Refusal, Site, Trampoline, jump, place,
};

use super::slot::{fields, record};
use super::{Detail, Shape, Test, Windows};

/// Room for a trampoline, and for the meanings of its addresses.
const CODE: usize = 8192;
const PLACES: usize = 2048;
/// Room for a trampoline that only counts; most need no more.
const SMALL: usize = 512;

/// A site whose arrivals a trampoline counts.
#[derive(Clone, Debug)]
pub(in crate::ptrace) struct Member {
    /// Offset from the site of the jump.
    pub(in crate::ptrace) offset: u8,
    /// Address of the counter.
    pub(in crate::ptrace) counter: u64,
    /// What stops threads.
    pub(in crate::ptrace) test: Option<Test>,
    /// What records arrivals, in the place of the counter.
    pub(in crate::ptrace) recording: Option<Recording>,
}

/// How a trampoline records arrivals.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct Recording {
    /// The number of the site.
    pub(in crate::ptrace) id: u32,
    pub(in crate::ptrace) detail: Detail,
    /// Address of the ring, and what it is like.
    pub(in crate::ptrace) ring: (u64, Shape),
    pub(in crate::ptrace) windows: Windows,
}

/// A jump at a site.
#[derive(Clone, Debug)]
pub(in crate::ptrace) struct Jump {
    pub(in crate::ptrace) site: u64,
    pub(in crate::ptrace) displacement: Displacement,
    pub(in crate::ptrace) trampoline: Trampoline,
    /// The store that the trampoline lies in.
    pub(in crate::ptrace) store: usize,
    /// The first one is that of the site itself.
    pub(in crate::ptrace) members: Vec<Member>,
    draft: Draft,
    /// The instructions of the trampoline that read the program's memory, where a handler answers their faults, and where it continues.
    fixups: Box<[(u64, u64)]>,
}

/// What a trampoline is made of.
#[derive(Clone, Debug)]
pub(in crate::ptrace) struct Draft {
    pub(in crate::ptrace) site: u64,
    /// The program's code from the site on, without breakpoint instructions and jumps.
    pub(in crate::ptrace) code: Box<[u8]>,
    pub(in crate::ptrace) mode: Mode,
    pub(in crate::ptrace) shadow_stack: bool,
}

/// Room to make trampolines in.
#[derive(Debug)]
pub(in crate::ptrace) struct Workbench {
    code: Vec<u8>,
    places: Vec<Place>,
}

impl Workbench {
    pub(in crate::ptrace) fn new() -> Workbench {
        Workbench { code: vec![0; CODE], places: vec![Place::EMPTY; PLACES] }
    }

    /// Makes the trampoline at `at`.
    pub(in crate::ptrace) fn make(
        &mut self,
        draft: &Draft,
        members: &[Member],
        at: u64,
    ) -> Result<Trampoline, Refusal> {
        let Draft { site: pc, ref code, mode, shadow_stack } = *draft;
        // Whoever takes a stop reads all registers.
        let keep_dead = members.iter().any(|member| member.test.is_some() || member.recording.is_some());
        let site = Site { pc, code, mode, shadow_stack, keep_dead };
        let lists: Vec<Vec<&[Clause]>> =
            members.iter().map(|member| member.test.iter().flat_map(Test::lists).collect()).collect();
        let recorded = |recording: &Recording| fields(recording.detail, recording.windows, recording.ring.1.stack);
        let recorded: Vec<Vec<Field>> =
            members.iter().map(|member| member.recording.as_ref().map(recorded).unwrap_or_default()).collect();
        let mut actions: Vec<Option<Action<'_>>> = Vec::new();
        for (member, fields) in members.iter().zip(&recorded) {
            actions.push(match member.recording {
                Some(Recording { id, detail, ring: (at, shape), .. }) => {
                    Some(Action::Record(record(id, detail, shape.at(at), fields)))
                }
                None => member.test.is_some().then_some(Action::Stop),
            });
        }
        let probes = members.iter().zip(&lists).zip(&actions).map(|((member, lists), action)| Probe {
            offset: member.offset,
            arrivals: member.recording.is_none().then_some(member.counter),
            condition: lists,
            actions: action.as_slice(),
        });
        let probes: Vec<Probe<'_>> = probes.collect();
        if let Some(small) = self.code.get_mut(..SMALL).filter(|_| !keep_dead) {
            match site.assemble(&probes, at, small, &mut self.places) {
                Err(Refusal::NoRoom) => {}
                made => return made,
            }
        }
        site.assemble(&probes, at, &mut self.code, &mut self.places)
    }

    /// The instructions of the trampoline that was made last, without the constants behind them.
    pub(in crate::ptrace) fn instructions(&self, trampoline: &Trampoline, mode: Mode) -> &[u8] {
        let code = self.code(trampoline);
        let places = self.places.get(..trampoline.places()).unwrap_or_default();
        let last = places.last().map_or(0, |place| usize::from(place.offset));
        let len = code.get(last..).and_then(|rest| decode(rest, mode).ok()).map_or(0, |insn| insn.len());
        code.get(..last + len).unwrap_or(code)
    }

    /// The instructions of the trampoline that was made last that read the program's memory, and where threads continue whose access faults.
    pub(in crate::ptrace) fn fixups(&self, trampoline: &Trampoline) -> Box<[(u64, u64)]> {
        let places = self.places.get(..trampoline.places()).unwrap_or_default();
        let address = |offset: u16| trampoline.at().wrapping_add(offset.into());
        places.iter().filter_map(|place| Some((address(place.offset), address(place.fixup?)))).collect()
    }

    /// The code of the trampoline that was made last.
    pub(in crate::ptrace) fn code(&self, trampoline: &Trampoline) -> &[u8] {
        self.code.get(..trampoline.len()).unwrap_or_default()
    }
}

impl Jump {
    pub(in crate::ptrace) fn new(
        draft: Draft,
        displacement: Displacement,
        trampoline: Trampoline,
        store: usize,
        members: Vec<Member>,
        fixups: Box<[(u64, u64)]>,
    ) -> Jump {
        Jump { site: draft.site, displacement, trampoline, store, members, draft, fixups }
    }

    /// Bytes of the instructions that the trampoline runs.
    pub(in crate::ptrace) fn len(&self) -> u64 {
        self.trampoline.run_len() as u64
    }

    /// The address behind these instructions.
    pub(in crate::ptrace) fn end(&self) -> u64 {
        self.site + self.len()
    }

    /// The bytes at the site.
    pub(in crate::ptrace) fn bytes(&self) -> [u8; JUMP_LEN] {
        jump(self.displacement)
    }

    /// The program's code from the site on.
    pub(in crate::ptrace) fn code(&self) -> &[u8] {
        &self.draft.code
    }

    /// The program's bytes that the jump replaces.
    pub(in crate::ptrace) fn original(&self) -> &[u8] {
        self.draft.code.get(..JUMP_LEN).unwrap_or_default()
    }

    /// The member at an address.
    pub(in crate::ptrace) fn member(&self, address: u64) -> Option<&Member> {
        self.members.iter().find(|member| self.site + u64::from(member.offset) == address)
    }

    /// Whether the address is that of a member behind the bytes of the jump. A breakpoint instruction stands there.
    pub(in crate::ptrace) fn is_further(&self, address: u64) -> bool {
        address >= self.site + JUMP_LEN as u64 && self.member(address).is_some()
    }

    /// The instructions of the trampoline that raise signals which a handler answers when the tracer is gone, and where the thread continues: those
    /// that stop threads, and those that read the program's memory.
    pub(in crate::ptrace) fn answered(&self) -> impl Iterator<Item = (u64, u64)> {
        let stops = self.trampoline.stops().map(|(_, behind)| (behind.wrapping_sub(1), behind));
        stops.chain(self.fixups.iter().copied())
    }

    /// The sites whose arrivals the trampoline counts.
    pub(in crate::ptrace) fn sites(&self) -> impl Iterator<Item = u64> {
        self.members.iter().map(|member| self.site + u64::from(member.offset))
    }

    /// The meaning of an address in the trampoline, at an instruction's beginning.
    pub(in crate::ptrace) fn place(&self, offset: u16) -> Option<Place> {
        let mut bench = Workbench::new();
        let trampoline = bench.make(&self.draft, &self.members, self.trampoline.at()).ok()?;
        place(bench.places.get(..trampoline.places())?, offset).copied()
    }
}
