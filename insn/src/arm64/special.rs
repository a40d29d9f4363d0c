//! Kind, condition and other properties beside flow and effects: look-ups in a small table (`generated/special.rs`).

use super::codes::NONE;
use super::generated::special::{FORMS, LISTS, STARTS};
use super::tables::Special;
use super::{Condition, Exclusive, Insn, Kind, LandingPad, Trap};

/// The properties of words that fit no form, as most do.
static PLAIN: Special = Special { kind: Kind::Plain, condition: NONE, literal: NONE };

impl Insn {
    /// The kind of the instruction.
    pub fn kind(&self) -> Kind {
        self.special().kind
    }
    /// The condition of a branch, select or compare, which reads flags.
    pub fn condition(&self) -> Option<Condition> {
        let low = self.special().condition;
        (low != NONE).then(|| Condition::new(self.field(low.into(), 4)))
    }
    /// The effect on the exclusive monitor, if the instruction has one.
    pub fn exclusive(&self) -> Option<Exclusive> {
        match self.kind() {
            Kind::LoadExclusive => Some(Exclusive::Load),
            Kind::StoreExclusive => Some(Exclusive::Store),
            Kind::ClearExclusive => Some(Exclusive::Clear),
            _ => None,
        }
    }
    /// The kind of landing pad, if the instruction is one.
    pub fn landing_pad(&self) -> Option<LandingPad> {
        match self.kind() {
            Kind::Bti => Some(match self.field(6, 2) {
                0 => LandingPad::None,
                1 => LandingPad::Call,
                2 => LandingPad::Jump,
                _ => LandingPad::Both,
            }),
            Kind::PacSp | Kind::PacSpAt => Some(LandingPad::PacSp),
            // Breakpoint and halt instructions are compatible with every BTYPE (Arm ARM D8.4.6.2).
            Kind::Brk | Kind::Hlt => Some(LandingPad::Both),
            _ => None,
        }
    }
    /// The exception that the instruction raises, if it always raises one.
    pub fn trap(&self) -> Option<Trap> {
        let immediate = self.field(5, 16) as u16;
        match self.kind() {
            Kind::Svc => Some(Trap::Svc(immediate)),
            Kind::Brk => Some(Trap::Brk(immediate)),
            Kind::Hlt => Some(Trap::Hlt(immediate)),
            Kind::Udf => Some(Trap::Udf(self.word as u16)),
            _ => None,
        }
    }
    /// The properties that the first fitting form tells.
    #[inline(never)]
    pub(super) fn special(&self) -> &'static Special {
        let top = (self.word >> 24) as usize;
        let list = match STARTS.get(top..) {
            Some([start, end, ..]) => LISTS.get(usize::from(*start)..usize::from(*end)).unwrap_or(&[]),
            _ => &[],
        };
        list.iter()
            .filter_map(|number| FORMS.get(usize::from(*number)))
            .find(|form| (self.word ^ form.value) & form.mask == 0)
            .map_or(&PLAIN, |form| &form.special)
    }
}
