//! The making of trampolines.

use insn::x86::{Mode, decode};
use trampoline::x86::{Action, Clause, Field, Place, Probe, Refusal, Site, Source, Trampoline};

use super::super::slot::{fields, record};
use super::super::{Member, Recording, Test};
use crate::NoJump;
use crate::ptrace::arch::sum_register;

/// Room for a trampoline, and for the meanings of its addresses.
const CODE: usize = 8192;
const PLACES: usize = 2048;
/// Room for a trampoline that only counts; most need no more.
const SMALL: usize = 512;

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
    pub(in crate::ptrace) fn make(&mut self, draft: &Draft, members: &[Member], at: u64) -> Result<Trampoline, NoJump> {
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
            actions.push(match (member.recording, member.sum) {
                (Some(Recording { id, detail, ring: (at, shape), .. }), _) => {
                    Some(Action::Record(record(id, detail, shape.at(at), fields)))
                }
                (None, Some(sum)) => {
                    let register = sum_register(sum.value).ok_or(NoJump::Sums)?;
                    Some(Action::Sum { row: sum.row, source: Source::Register(register) })
                }
                (None, None) => member.test.is_some().then_some(Action::Stop),
            });
        }
        let probes = members.iter().zip(&lists).zip(&actions).map(|((member, lists), action)| Probe {
            offset: member.offset,
            arrivals: (!member.acts()).then_some(member.counter),
            condition: lists,
            actions: action.as_slice(),
        });
        let probes: Vec<Probe<'_>> = probes.collect();
        if let Some(small) = self.code.get_mut(..SMALL).filter(|_| !keep_dead) {
            match site.assemble(&probes, at, small, &mut self.places) {
                Err(Refusal::NoRoom) => {}
                made => return made.map_err(NoJump::Trampoline),
            }
        }
        site.assemble(&probes, at, &mut self.code, &mut self.places).map_err(NoJump::Trampoline)
    }

    /// The instructions of the trampoline that was made last, without the constants behind them.
    pub(in crate::ptrace) fn instructions(&self, trampoline: &Trampoline, mode: Mode) -> &[u8] {
        let code = self.code(trampoline);
        let last = self.places(trampoline).last().map_or(0, |place| usize::from(place.offset));
        let len = code.get(last..).and_then(|rest| decode(rest, mode).ok()).map_or(0, |insn| insn.len());
        code.get(..last + len).unwrap_or(code)
    }

    /// The meanings of the addresses in the trampoline that was made last.
    pub(in crate::ptrace) fn places(&self, trampoline: &Trampoline) -> &[Place] {
        self.places.get(..trampoline.places()).unwrap_or_default()
    }

    /// The code of the trampoline that was made last.
    pub(in crate::ptrace) fn code(&self, trampoline: &Trampoline) -> &[u8] {
        self.code.get(..trampoline.len()).unwrap_or_default()
    }
}
