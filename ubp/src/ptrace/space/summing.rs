//! The reading of what trampolines have summed up.

use super::Space;
use crate::ptrace::jumps::{Jump, Row, Sum};
use crate::ptrace::sums::Summed;
use crate::{AggregationId, NoJump, Operand, Spec};

impl Space {
    /// Notes the value of an aggregation that breakpoints name.
    pub(in crate::ptrace) fn note_aggregation(&mut self, id: AggregationId, value: Operand) {
        self.summed_values.insert(id, value);
    }

    /// What a trampoline sums up at a site. `None`: nothing, or the tracer does so where a condition holds.
    pub(super) fn sum_at(&self, site: u64) -> Result<Option<(AggregationId, Operand)>, NoJump> {
        let specs = || self.breakpoints_at(site).map(|breakpoint| &breakpoint.spec);
        if specs().all(|spec| spec.aggregation.is_none() || spec.condition.is_some()) {
            return Ok(None);
        }
        let mut summed = specs().filter_map(|spec| Some((spec.aggregation?, spec)));
        match (summed.next(), summed.next()) {
            (Some((id, spec)), None) if spec.ignore == 0 && specs().all(Spec::only_counts) => {
                self.summed_values.get(&id).map(|value| Some((id, *value))).ok_or(NoJump::Sums)
            }
            _ => Err(NoJump::Sums),
        }
    }

    /// The row of a member of a jump.
    pub(in crate::ptrace) fn row(&self, store: usize, sum: &Sum) -> Option<Row<'_>> {
        let store = self.jumps.stores.get(store)?;
        Some(Row { memory: store.rows.as_deref()?, at: store.offset(sum.row) })
    }

    /// Whether trampolines have added hits to an aggregation that are not taken.
    pub(in crate::ptrace) fn has_sums(&self, id: AggregationId) -> bool {
        let has_more = |store: usize, sum: &Sum| {
            sum.id == id && self.row(store, sum).is_some_and(|row| row.has_more(self.taken.get(&sum.row)))
        };
        let has_any = |jump: &Jump| {
            jump.members.iter().filter_map(|member| member.sum.as_ref()).any(|sum| has_more(jump.store, sum))
        };
        self.jumps.summing().any(has_any)
    }

    /// Takes what trampolines have summed up. No thread is in one.
    pub(in crate::ptrace) fn take_sums(&mut self) {
        let heads: Vec<u64> = self.jumps.summing().map(|jump| jump.site).collect();
        heads.into_iter().for_each(|head| self.take_sums_of(head));
    }

    fn take_sums_of(&mut self, head: u64) {
        let Some(jump) = self.jumps.get(head) else { return };
        let members = jump.members.iter().filter_map(|member| Some((head + u64::from(member.offset), member.sum?)));
        let (members, store): (Vec<(u64, Sum)>, usize) = (members.collect(), jump.store);
        for (site, sum) in members {
            let mut taken = self.taken.remove(&sum.row).unwrap_or_default();
            let words = self.row(store, &sum).and_then(|row| row.take(&mut taken));
            self.taken.insert(sum.row, taken);
            self.summed.extend(words.map(|words| Summed { id: sum.id, site, words }));
        }
    }

    /// Takes what the trampoline of a jump that goes has summed up, and forgets its rows.
    pub(super) fn end_sums_of(&mut self, head: u64) {
        self.take_sums_of(head);
        let sums = self.jumps.get(head).into_iter().flat_map(|jump| &jump.members).filter_map(|member| member.sum);
        let rows: Vec<u64> = sums.map(|sum| sum.row).collect();
        self.taken.retain(|row, _| !rows.contains(row));
    }
}
