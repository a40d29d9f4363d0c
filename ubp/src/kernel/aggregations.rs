//! Hits that the kernel sums up, and those of held threads, which are summed up here.

use std::collections::HashSet;

use wire::blob::from_words;
use wire::commands::{Command, Reply};
use wire::rule::{Value, buckets};
use wire::{Status, blob};

use super::sums::{Aggregations, Own};
use super::{Kernel, cannot, filter};
use crate::aggregation::Aggregated;
use crate::arch::MACHINES;
use crate::core::Buckets;
use crate::{
    Aggregation, AggregationError, AggregationId, AggregationKey, Error, Operand, Pid, Registers, Result, Tid,
};

impl Kernel {
    pub(super) fn aggregate(&mut self, declared: &Aggregation) -> Result<AggregationId> {
        declared.check(MACHINES[0].2).map_err(Error::Aggregation)?;
        let unreadable = || Error::Aggregation(AggregationError::Arrivals);
        let mut key = Vec::new();
        for part in &declared.key {
            key.extend(value_of(*part).ok_or_else(unreadable)?.words());
        }
        let value = declared.value.map(|value| filter::value(value).ok_or_else(unreadable)).transpose()?;
        let value: Vec<u64> = value.iter().flat_map(|value| value.words()).collect();
        let histogram = match declared.buckets {
            None => [buckets::NONE, 0, 0, 0],
            Some(Buckets::Log2) => [buckets::LOG2, 0, 0, 0],
            Some(Buckets::Linear { start, width, count }) => [buckets::LINEAR, start, width, u64::from(count)],
        };
        let command = Command::Aggregate {
            key: &from_words(&key),
            value: &from_words(&value),
            histogram: &from_words(&histogram),
            rows: declared.most.into(),
        };
        let told = self.channel.ask(command, |told| {
            told.map(|reply| match reply {
                Reply::Aggregate { aggregate } => aggregate,
                _ => 0,
            })
        })?;
        let id = AggregationId(told.map_err(|failure| match failure.status {
            Status::Unknown => cannot("sum hits up: its version is older than that of this program"),
            Status::Limit => Error::Aggregation(AggregationError::TooMany),
            Status::NoMemory => Error::Aggregation(AggregationError::NoMemory),
            _ => Error::Aggregation(AggregationError::Shape),
        })?);
        let held = declared.in_tracer();
        self.aggregations.all.insert(id, Own { declared: declared.clone(), held });
        Ok(id)
    }

    pub(super) fn end_aggregation(&mut self, id: AggregationId) -> Result<()> {
        match self.aggregations.all.remove(&id) {
            Some(_) => self.channel.post(Command::Unaggregate { aggregate: id.0 }).map(drop),
            None => Ok(()),
        }
    }

    pub(super) fn aggregated(&mut self, id: AggregationId, take: bool) -> Result<Aggregated> {
        let Aggregations { all, processes } = &mut self.aggregations;
        let own = all.get_mut(&id).ok_or(Error::Aggregation(AggregationError::Unknown))?;
        let keys = own.declared.key.len();
        let by_process = |at: &usize| own.declared.key.get(*at) == Some(&AggregationKey::Process);
        let processes_at: HashSet<usize> = (0..keys).filter(by_process).collect();
        let mut sums = own.declared.in_tracer();
        let command = Command::Sums { aggregate: id.0, take: take.into() };
        let told = self.channel.ask(command, |told| {
            let (rows, other) = match told {
                Ok(Reply::Sums { rows, other }) => (words(rows), words(other)),
                Ok(_) => return Ok(()),
                Err(failure) => return Err(failure.status),
            };
            for row in rows.chunks(own.declared.row()) {
                let Some((key, values)) = row.split_at_checked(keys) else { continue };
                let Some(values) = own.declared.values(values) else { continue };
                let part = |(at, word): (usize, &u64)| match processes.get(word) {
                    Some(pid) if processes_at.contains(&at) => pid.0 as u64,
                    _ => *word,
                };
                sums.add_all(key.iter().enumerate().map(part).collect(), &values);
            }
            own.declared.values(&other).iter().for_each(|values| sums.add_others(values));
            Ok(())
        })?;
        if let Err(status) = told {
            let why = if status == Status::NoMemory { AggregationError::NoMemory } else { AggregationError::Unknown };
            return Err(Error::Aggregation(why));
        }
        let held = if take { own.held.take() } else { own.held.read() };
        held.rows.iter().for_each(|(key, values)| sums.add_all(key.clone(), values));
        held.other.iter().for_each(|values| sums.add_others(values));
        Ok(sums.take())
    }

    /// Adds the hit of a held thread.
    pub(super) fn add_held(
        &mut self,
        pid: Pid,
        tid: Tid,
        address: u64,
        ids: &[AggregationId],
        known: &mut Option<Registers>,
    ) {
        for id in ids {
            let Some(declared) = self.aggregations.all.get(id).map(|own| own.declared.clone()) else { continue };
            let number = match declared.value {
                None => Some(1),
                Some(operand) => self.operand(pid, tid, operand, 0, known),
            };
            let Some(number) = number else { continue };
            let mut part = |part: &AggregationKey| match *part {
                AggregationKey::Process => pid.0 as u64,
                AggregationKey::Thread => tid.0 as u64,
                AggregationKey::Location => address,
                AggregationKey::Value(operand) => self.operand(pid, tid, operand, 0, known).unwrap_or(0),
            };
            let key = declared.key.iter().map(&mut part).collect();
            if let Some(own) = self.aggregations.all.get_mut(id) {
                own.held.add(key, number);
            }
        }
    }

    /// A value of a held thread.
    pub(super) fn operand(
        &self,
        pid: Pid,
        tid: Tid,
        operand: Operand,
        arrivals: u64,
        known: &mut Option<Registers>,
    ) -> Option<u64> {
        let mut register = |reg| {
            if known.is_none() {
                *known = self.registers(tid).ok();
            }
            known.as_ref().and_then(|registers| registers.get(reg))
        };
        match operand {
            Operand::Arrivals => Some(arrivals),
            Operand::Register(reg) | Operand::Part { register: reg, .. } => register(reg),
            Operand::Memory { base, offset, size } => {
                let base = base.map_or(Some(0), &mut register)?;
                self.read_word(pid, base.wrapping_add_signed(offset), usize::from(size))
            }
        }
    }
}

/// A part of a key in the channel's terms.
fn value_of(part: AggregationKey) -> Option<Value> {
    Some(match part {
        AggregationKey::Process => Value::Debuggee,
        AggregationKey::Thread => Value::Thread,
        AggregationKey::Location => Value::Address,
        AggregationKey::Value(operand) => filter::value(operand)?,
    })
}

fn words(bytes: &[u8]) -> Vec<u64> {
    blob::words(bytes).into_iter().flatten().collect()
}
