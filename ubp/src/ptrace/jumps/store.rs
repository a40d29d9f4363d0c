//! Where trampolines and their counters lie.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::sum::ROW;
use super::{Detail, Member, Ring, Shared, Test, Windows};

/// Bytes of a counter.
const COUNTER: u64 = 8;
/// The alignment of trampolines in bytes.
const ALIGNMENT: u64 = 16;
/// Bytes that a trampoline with one counter takes, at most on average.
const EACH: u64 = 128;
/// Bytes that a test takes without its comparisons, and that one of them takes, at most.
const TEST: u64 = 128;
const COMPARISON: u64 = 96;
/// Bytes that a record takes, and that the text at an argument and the stack in it take, at most.
const RECORD: u64 = 512;
const TEXT: u64 = 256;
const STACK: u64 = 512;
/// Bytes that the code of a sum takes, at most.
const SUM: u64 = 256;
/// The words at the start of a store: two windows ([`trampoline::x86::Memory`]), each a first address and a length. The first window is all
/// user memory, the second is user memory from 64 KiB on, where text can lie. The end of the initial thread's stack follows.
const WINDOWS: [u64; 4] = [0, 1 << 47, LOWEST, (1 << 47) - LOWEST];
const LOWEST: u64 = 0x1_0000;
const HEAD: u64 = 48;

/// The room that jumps need.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::ptrace) struct Need {
    code: u64,
    counters: u64,
    pub(in crate::ptrace) records: bool,
    pub(in crate::ptrace) sums: bool,
}

impl Need {
    /// Adds the room for one site.
    pub(in crate::ptrace) fn add(&mut self, test: Option<&Test>, record: Option<Detail>, sums: bool) {
        let of = |has, size| if has { size } else { 0 };
        let of_record =
            record.map_or(0, |detail| RECORD + TEXT * u64::from(detail.text.count_ones()) + of(detail.stack, STACK));
        self.code += EACH + of_record + of(sums, SUM) + test.map_or(0, |test| TEST + COMPARISON * test.len() as u64);
        self.counters += COUNTER + of(sums, ROW);
        self.sums |= sums;
        self.records |= record.is_some();
    }
}

/// Two or three mappings in the debuggee: trampolines, and behind them their counters and a ring, which the tracer and the processes of the
/// memory share as files.
#[derive(Clone, Debug)]
pub(in crate::ptrace) struct Store {
    /// Address of the trampolines.
    pub(in crate::ptrace) base: u64,
    /// Bytes for trampolines, and for counters.
    pub(in crate::ptrace) sizes: (u64, u64),
    pub(in crate::ptrace) counters: Arc<File>,
    /// The mapping of the counters in the tracer, if there are rows of sums among them.
    pub(in crate::ptrace) rows: Option<Arc<Shared>>,
    /// Whether there may be rows. A forked child has no mapping of them at first.
    pub(in crate::ptrace) has_rows: bool,
    /// Where trampolines record arrivals.
    pub(in crate::ptrace) ring: Option<Ring>,
    /// What all trampolines of the store reach: code, and what leads from there to them.
    pub(in crate::ptrace) reach: Range<u64>,
    /// Number of jumps whose trampolines lie here.
    pub(in crate::ptrace) jumps: usize,
    used: u64,
    counted: u64,
}

/// Addresses of counters and rows, which follow each other.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct Counters {
    counter: u64,
    row: u64,
}

impl Counters {
    /// The address of the next counter.
    pub(in crate::ptrace) fn counter(&mut self) -> u64 {
        let next = self.counter + COUNTER;
        std::mem::replace(&mut self.counter, next)
    }

    /// The address of the next row.
    pub(in crate::ptrace) fn row(&mut self) -> u64 {
        let next = self.row + ROW;
        std::mem::replace(&mut self.row, next)
    }
}

fn size_of_counters(counters: usize, rows: usize) -> u64 {
    counters as u64 * COUNTER + rows as u64 * ROW
}

/// The sum of words.
fn total(raw: &[u8]) -> u64 {
    let words = raw.chunks_exact(COUNTER as usize).filter_map(|word| word.first_chunk());
    words.fold(0, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

impl Store {
    /// The sizes of a store.
    pub(in crate::ptrace) fn sizes_for(need: Need, page: u64) -> (u64, u64) {
        let size = |bytes: u64, each| bytes.max(64 * each).next_multiple_of(page);
        (size(need.code + HEAD, EACH), size(need.counters, COUNTER))
    }

    /// The first bytes of the mapping of trampolines, in a process whose initial thread's stack ends at `stack_end`.
    pub(in crate::ptrace) fn head(stack_end: u64) -> [u8; HEAD as usize] {
        let mut head = [0; HEAD as usize];
        let words = WINDOWS.into_iter().chain([stack_end]);
        for (to, from) in head.iter_mut().zip(words.flat_map(u64::to_le_bytes)) {
            *to = from;
        }
        head
    }

    /// Addresses of the words at the start.
    pub(in crate::ptrace) fn windows(&self) -> Windows {
        Windows { all: self.base, text: self.base + 16, stack_end: self.base + 32 }
    }

    pub(in crate::ptrace) fn new(
        base: u64,
        sizes: (u64, u64),
        counters: File,
        rows: Option<Shared>,
        ring: Option<Ring>,
        reach: Range<u64>,
    ) -> Store {
        let has_rows = rows.is_some();
        let (counters, rows) = (Arc::new(counters), rows.map(Arc::new));
        Store { base, sizes, counters, rows, has_rows, ring, reach, jumps: 0, used: HEAD, counted: 0 }
    }

    /// Whether there is room for jumps whose trampolines must reach all of `range`.
    pub(in crate::ptrace) fn serves(&self, range: &Range<u64>, need: Need) -> bool {
        let reaches = self.reach.start <= range.start && range.end <= self.reach.end;
        let room = self.used + need.code <= self.sizes.0 && self.counted + need.counters <= self.sizes.1;
        let has_rows = self.rows.is_some() || !need.sums;
        reaches && room && has_rows && (self.ring.as_ref().is_some_and(Ring::is_own) || !need.records)
    }

    /// Makes all room free again where no jump is left. No thread may be in the store.
    pub(in crate::ptrace) fn reuse(&mut self) {
        if self.jumps == 0 && self.counted > 0 {
            let zeroes = vec![0; self.counted as usize];
            if self.counters.write_all_at(&zeroes, 0).is_ok() {
                (self.used, self.counted) = (HEAD, 0);
            }
        }
    }

    /// The address for the next trampoline.
    pub(in crate::ptrace) fn next(&self) -> u64 {
        self.base + self.used
    }

    /// Addresses of the next counters, and of the next rows behind them. `None`: there is no room for this number.
    pub(in crate::ptrace) fn next_counters(&self, count: usize, rows: usize) -> Option<Counters> {
        let first = self.base + self.sizes.0 + self.counted;
        let fits = self.counted + size_of_counters(count, rows) <= self.sizes.1;
        fits.then(|| Counters { counter: first, row: first + size_of_counters(count, 0) })
    }

    /// Takes room for a trampoline of `length` bytes with `counters` and `rows`. Returns whether there is room.
    pub(in crate::ptrace) fn take(&mut self, length: usize, counters: usize, rows: usize) -> bool {
        let used = self.used + length as u64;
        if used > self.sizes.0 {
            return false;
        }
        self.used = used.next_multiple_of(ALIGNMENT);
        self.counted += size_of_counters(counters, rows);
        true
    }

    /// The offset of an address among the counters.
    pub(in crate::ptrace) fn offset(&self, address: u64) -> usize {
        address.wrapping_sub(self.base + self.sizes.0) as usize
    }

    /// The arrivals at a member of a jump.
    pub(in crate::ptrace) fn count(&self, member: &Member) -> u64 {
        let (address, words) = member.counters();
        let mut raw = vec![0; words * COUNTER as usize];
        // The program cannot reach the file; only what it maps ends before its end.
        let read = self.counters.read_exact_at(&mut raw, self.offset(address) as u64);
        read.map_or(0, |()| total(&raw))
    }

    /// The values of all counters, for [`Store::count_in`].
    pub(in crate::ptrace) fn all_counts(&self) -> Vec<u8> {
        let mut raw = vec![0; self.counted as usize];
        match self.counters.read_exact_at(&mut raw, 0) {
            Ok(()) => raw,
            Err(_) => Vec::new(),
        }
    }

    /// The arrivals at a member of a jump at the time of [`Store::all_counts`].
    pub(in crate::ptrace) fn count_in(&self, all: &[u8], member: &Member) -> u64 {
        let (address, words) = member.counters();
        let raw = all.get(self.offset(address)..).and_then(|rest| rest.get(..words * COUNTER as usize));
        raw.map_or(0, total)
    }

    /// Address of the ring, if there is one.
    pub(in crate::ptrace) fn ring_at(&self) -> u64 {
        self.base + self.sizes.0 + self.sizes.1
    }

    /// The mappings.
    pub(in crate::ptrace) fn mappings(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let (counters, ring) = (self.base + self.sizes.0, self.ring_at());
        let of_ring = self.ring.as_ref().map(|known| (ring, ring + known.shape.size()));
        [(self.base, counters), (counters, ring)].into_iter().chain(of_ring)
    }
}
