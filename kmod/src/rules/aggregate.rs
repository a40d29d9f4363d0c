// SPDX-License-Identifier: GPL-2.0

//! Numbers of hits that are summed up by key.

use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};
use ubp::core::{Buckets, Shape, Sums};
use wire::rule::{buckets as kinds, Value, MOST_BYTES, MOST_KEYS};
use wire::{blob, Failure, Status};

use crate::ffi;
use crate::rules::reader::Reader;
use crate::vec::{zeroes, Keep};

/// An aggregate. All its memory is taken when it is made: a hit allocates nothing.
#[pin_data]
pub(crate) struct Aggregate {
    keys: [Value; MOST_KEYS],
    /// Number of keys.
    count: usize,
    /// The number that is summed up. Without one hits are counted.
    value: Option<Value>,
    #[pin]
    sums: Mutex<Sums<KVVec<u64>>>,
}

/// The histogram that a field of the command describes; an inner `None` is none.
pub(crate) fn buckets(histogram: &[u8]) -> Option<Option<Buckets>> {
    let [kind, start, width, count] = blob::words_or_none(histogram)?;
    match (kind, start, width, count) {
        (kinds::NONE, 0, 0, 0) => Some(None),
        (kinds::LOG2, 0, 0, 0) => Some(Some(Buckets::Log2)),
        (kinds::LINEAR, ..) => {
            let linear = Buckets::Linear { start, width, count: u32::try_from(count).ok()? };
            linear.is_valid().then_some(Some(linear))
        }
        _ => None,
    }
}

impl Aggregate {
    /// The aggregate that the fields of the command describe.
    pub(crate) fn new(
        key: &[u8],
        value: &[u8],
        histogram: Option<Buckets>,
        rows: u64,
    ) -> Result<Arc<Aggregate>, Failure> {
        let wrong = |field| Failure::new(Status::Value, field);
        let (mut keys, mut count) = ([Value::Hits; MOST_KEYS], 0);
        for value in blob::values(key).map_err(|_| wrong(0))? {
            *keys.get_mut(count).ok_or(Failure::new(Status::Limit, MOST_KEYS as u64))? = value.ok_or(wrong(0))?;
            count += 1;
        }
        let mut values = blob::values(value).map_err(|_| wrong(1))?;
        let value = values.next().map(|value| value.ok_or(wrong(1))).transpose()?;
        if values.next().is_some() {
            return Err(wrong(1));
        }
        let most = u32::try_from(rows).ok().filter(|rows| *rows > 0).ok_or(wrong(3))?;
        let shape = Shape { keys: count, buckets: histogram, most };
        if shape.row().saturating_mul(8).saturating_mul(most as usize) > MOST_BYTES {
            return Err(Failure::new(Status::Limit, MOST_BYTES as u64));
        }
        let mut words = KVVec::new();
        zeroes(&mut words, shape.words())?;
        // SAFETY: the function has no precondition.
        let sums = Sums::new(shape, unsafe { ffi::get_random_u64() }, words).ok_or(Status::NoMemory)?;
        let aggregate = pin_init!(Aggregate { keys, count, value, sums <- new_mutex!(sums, "ntrace sums") });
        Arc::pin_init(aggregate, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory.into())
    }

    /// Adds a hit.
    pub(crate) fn add(&self, hit: &mut Reader<'_>) {
        let Some(number) = self.value.map_or(Some(1), |value| hit.value(value)) else { return };
        let mut words = [0; MOST_KEYS];
        for (word, value) in words.iter_mut().zip(self.keys).take(self.count) {
            *word = hit.value(value).unwrap_or(0);
        }
        self.sums.lock().add(words.get(..self.count).unwrap_or_default(), number);
    }

    /// Replaces `rows` and `other` by what the aggregate holds, and lets it begin anew if `take` says so. Without memory it stays as it is.
    pub(crate) fn read(&self, take: bool, rows: &mut KVVec<u64>, other: &mut KVVec<u64>) -> Result<(), Failure> {
        let mut sums = self.sums.lock();
        for (to, from) in [(rows, sums.rows()), (other, sums.other())] {
            to.keep(0);
            to.extend_from_slice(from, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        }
        if take {
            sums.clear();
        }
        Ok(())
    }
}
