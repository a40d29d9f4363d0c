//! The reading of what trampolines have summed up.

use super::Space;
use crate::ptrace::jumps::{Reading, Row, Sum};
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

    /// Reads what trampolines have summed up.
    pub(in crate::ptrace) fn read_sums(&mut self, reading: Reading) {
        let heads: Vec<u64> = self.jumps.summing().collect();
        heads.into_iter().for_each(|head| self.read_sums_of(head, reading));
    }

    /// Reads what the trampoline of the jump at `head` has summed up.
    pub(super) fn read_sums_of(&mut self, head: u64, reading: Reading) {
        let Some(jump) = self.jumps.get(head) else { return };
        let members = jump.members.iter().filter_map(|member| Some((head + u64::from(member.offset), member.sum?)));
        let (members, store): (Vec<(u64, Sum)>, usize) = (members.collect(), jump.store);
        for (site, sum) in members {
            let mut taken = self.taken.remove(&sum.row).unwrap_or_default();
            let words = self.row(store, &sum).and_then(|row| row.read(&mut taken, reading));
            self.taken.insert(sum.row, taken);
            self.summed.extend(words.map(|words| Summed { id: sum.id, site, words }));
        }
    }

    /// Forgets what was read of the rows of a jump that goes.
    pub(super) fn end_sums_of(&mut self, head: u64) {
        self.read_sums_of(head, Reading::Last);
        let sums = self.jumps.get(head).into_iter().flat_map(|jump| &jump.members).filter_map(|member| member.sum);
        let rows: Vec<u64> = sums.map(|sum| sum.row).collect();
        self.taken.retain(|row, _| !rows.contains(row));
    }
}
