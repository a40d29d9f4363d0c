// SPDX-License-Identifier: GPL-2.0

//! The commands of the channel, a function for each.

use core::time::Duration;

use fastpath::arch::MACHINE;
use kernel::alloc::AllocError;
use kernel::prelude::*;
use kernel::sync::Arc;
use ubp::core::Limits;
use wire::buffer::Buffer;
use wire::commands::{option, reported, Serve};
use wire::site::Site;
use wire::{blob, Failure, Status, MOST_WORDS};

use crate::breakpoints::table::Counted;
use crate::ffi;
use crate::follow::rule::{Conditions, Follows};
use crate::process::debuggee::Debuggee;
use crate::process::registry::{Adoptee, Registry};
use crate::rules::aggregate::{buckets, Aggregate};
use crate::rules::rule::Rule;
use crate::thread::held::Held;
use crate::vec::{self, bytes, zeroes, Keep};

/// Bytes of a blob in a reply at most: those of a message less all that may come before the blob.
const MOST: u64 = (MOST_WORDS as u64 - 16) * 8;

/// How long a detach, and the end of a session, wait until breakpoints are removed. In a process that does not answer they are removed in
/// the background.
const DETACH_SECONDS: i32 = 10;
const CLOSE_SECONDS: i32 = 5;

/// Carries out the commands of a session.
pub(crate) struct Server {
    registry: Arc<Registry>,
    debuggees: KVec<Debuggee>,
    follows: KVec<Follows>,
    /// The blob of a reply.
    blob: KVVec<u8>,
    /// The blob of a reply that consists of words, and a second one.
    words: KVVec<u64>,
    more_words: KVVec<u64>,
}

impl Server {
    /// A server without debuggees.
    pub(crate) fn new(registry: Arc<Registry>) -> Server {
        let (debuggees, follows) = (KVec::new(), KVec::new());
        Server { registry, debuggees, follows, blob: KVVec::new(), words: KVVec::new(), more_words: KVVec::new() }
    }

    /// Takes in debuggees that were adopted, and drops those that are gone.
    pub(crate) fn refresh(&mut self) {
        self.take_in(self.registry.adopted());
        while let Some(gone) = vec::take(&mut self.debuggees, Debuggee::is_gone) {
            drop(gone);
        }
    }

    fn take_in(&mut self, adopted: KVec<Adoptee>) {
        for Adoptee { debuggee, is_new, before } in adopted {
            let old = vec::take(&mut self.debuggees, |other| other.number == debuggee.number);
            // The user may have detached a debuggee after it executed another program.
            if is_new || old.is_some() {
                let _ = self.debuggees.push(debuggee, GFP_KERNEL_ACCOUNT);
            }
            if let Some(Ok(old)) = old.map(|old| old.renamed(before)) {
                let _ = self.debuggees.push(old, GFP_KERNEL_ACCOUNT);
            }
        }
    }

    /// The counts of the breakpoints at `addresses`, for the replies to `counts` and `taken`.
    fn counted(&mut self, debuggee: u64, addresses: &[u8], counted: Counted) -> Result<(&[u8],), Failure> {
        self.blob.keep(0);
        let found = find(&self.debuggees, debuggee)?;
        match found.kept() {
            Some(kept) => kept.counts(addresses, counted, &mut self.blob)?,
            None => found.breakpoints().counts(addresses, counted, &mut self.blob)?,
        }
        Ok((&self.blob,))
    }

    fn held(&self, thread: u64) -> Result<Arc<Held>, Failure> {
        self.registry.held(thread).ok_or(Failure::new(Status::NotHeld, thread))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(core::mem::take(&mut self.follows));
        self.take_in(self.registry.close());
        self.debuggees.iter().for_each(Debuggee::kill);
        self.registry.rules.clear();
        // All held threads are resumed before the debuggees are dropped.
        self.registry.release_all();
        drop(core::mem::take(&mut self.debuggees));
        self.registry.endings.wait_none(CLOSE_SECONDS);
    }
}

fn find(debuggees: &[Debuggee], number: u64) -> Result<&Debuggee, Failure> {
    debuggees.iter().find(|debuggee| debuggee.number == number).ok_or(Failure::new(Status::NoProcess, number))
}

/// A debuggee whose process has not ended. Of one that has, only counts can be read.
fn find_running(debuggees: &[Debuggee], number: u64) -> Result<&Debuggee, Failure> {
    let found = find(debuggees, number)?;
    if found.is_over() {
        Err(Failure::new(Status::NoProcess, number))
    } else {
        Ok(found)
    }
}

/// Collects text.
struct Text<'a>(&'a mut KVVec<u8>);

impl wire::text::Text for Text<'_> {
    type Error = AllocError;

    fn put(&mut self, piece: &str) -> Result<(), AllocError> {
        self.0.extend_from_slice(piece.as_bytes(), GFP_KERNEL_ACCOUNT)
    }
}

impl Serve for Server {
    fn hello(&mut self) -> Result<(u64, u64, u64), Failure> {
        Ok((wire::VERSION, MACHINE, kernel::page::PAGE_SIZE as u64))
    }

    fn describe(&mut self) -> Result<(&[u8],), Failure> {
        self.blob.keep(0);
        wire::manual::listing(&mut Text(&mut self.blob)).map_err(|_| Status::NoMemory)?;
        Ok((&self.blob,))
    }

    fn buffer(&mut self, mode: u64, size: u64, mark: u64) -> Result<(), Failure> {
        let buffer = Buffer::from_words(mode, size, mark)?;
        self.registry.channel.set_buffer(buffer).map_err(|_| Status::NoMemory.into())
    }

    fn attach(&mut self, process: u64, options: u64) -> Result<(u64,), Failure> {
        if options & !option::ALL != 0 {
            return Err(Failure::new(Status::Value, 1));
        }
        let debuggee = Debuggee::new(None, &self.registry, process, options)?;
        let number = debuggee.number;
        self.debuggees.push(debuggee, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        Ok((number,))
    }

    fn detach(&mut self, debuggee: u64) -> Result<(), Failure> {
        let found = vec::take(&mut self.debuggees, |other| other.number == debuggee);
        found.map(drop).ok_or(Failure::new(Status::NoProcess, debuggee))?;
        self.registry.endings.wait_none(DETACH_SECONDS);
        Ok(())
    }

    fn follow(
        &mut self,
        program: &[u8],
        user: u64,
        group: u64,
        namespace: u64,
        options: u64,
    ) -> Result<(u64,), Failure> {
        if options & !option::ALL != 0 {
            return Err(Failure::new(Status::Value, 4));
        }
        let conditions = Conditions::new(program, user, group, namespace)?;
        self.follows.reserve(1, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        let follows = Follows::new(&self.registry, options, conditions)?;
        let number = follows.number();
        self.follows.push(follows, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        Ok((number,))
    }

    fn unfollow(&mut self, follow: u64) -> Result<(), Failure> {
        let found = vec::take(&mut self.follows, |follows| follows.number() == follow);
        found.map(drop).ok_or(Failure::new(Status::Value, 0))
    }

    fn report(&mut self, debuggee: u64, what: u64, calls: &[u8]) -> Result<(), Failure> {
        // A session may ask for that without a debuggee.
        // SAFETY: the function reads a variable that was set when the module was loaded.
        if what & reported::SYSCALLS != 0 && !unsafe { ffi::ntrace_syscalls_supported() } {
            return Err(Status::Unsupported.into());
        }
        find_running(&self.debuggees, debuggee)?.report(what, calls)
    }

    fn insert(&mut self, debuggee: u64, sites: &[u8]) -> Result<(u64, &[u8]), Failure> {
        self.words.keep(0);
        for site in wire::site::records(sites).into_iter().flat_map(|records| records.iter()) {
            let rule = Site::from_bytes(site).ok().and_then(|site| site.rule());
            if rule.is_some_and(|rule| !self.registry.rules.has_rule(rule)) {
                return Err(Failure::new(Status::Value, 1));
            }
        }
        let inserted = find_running(&self.debuggees, debuggee)?.breakpoints().insert(sites, &mut self.words)?;
        Ok((inserted, bytes(&self.words)))
    }

    fn remove(&mut self, debuggee: u64, addresses: &[u8]) -> Result<(u64,), Failure> {
        Ok((find_running(&self.debuggees, debuggee)?.breakpoints().remove(addresses)?,))
    }

    fn counts(&mut self, debuggee: u64, addresses: &[u8]) -> Result<(&[u8],), Failure> {
        self.counted(debuggee, addresses, Counted::Hits)
    }

    fn taken(&mut self, debuggee: u64, addresses: &[u8]) -> Result<(&[u8],), Failure> {
        self.counted(debuggee, addresses, Counted::Taken)
    }

    fn rule(&mut self, thread: u64, clauses: &[u8], limits: &[u8], aggregate: u64) -> Result<(u64,), Failure> {
        let [skip, every, most, rate, period] = blob::words_or_none(limits).ok_or(Failure::new(Status::Value, 2))?;
        let limit = |number| if number == 0 { None } else { Some(number) };
        let rate = limit(rate).map(|rate| (rate, Duration::from_nanos(period)));
        let limits = Limits { skip, every: every.max(1), most: limit(most), rate };
        Ok((self.registry.rules.add_rule(Rule::new(thread, clauses, limits, aggregate)?)?,))
    }

    fn unrule(&mut self, rule: u64) -> Result<(), Failure> {
        self.registry.rules.remove_rule(rule)
    }

    fn aggregate(&mut self, key: &[u8], value: &[u8], histogram: &[u8], rows: u64) -> Result<(u64,), Failure> {
        let histogram = buckets(histogram).ok_or(Failure::new(Status::Value, 2))?;
        Ok((self.registry.rules.add_aggregate(Aggregate::new(key, value, histogram, rows)?)?,))
    }

    fn unaggregate(&mut self, aggregate: u64) -> Result<(), Failure> {
        self.registry.rules.remove_aggregate(aggregate)
    }

    fn sums(&mut self, aggregate: u64, take: u64) -> Result<(&[u8], &[u8]), Failure> {
        if take > 1 {
            return Err(Failure::new(Status::Value, 1));
        }
        self.registry.rules.aggregate(aggregate)?.read(take != 0, &mut self.words, &mut self.more_words)?;
        Ok((bytes(&self.words), bytes(&self.more_words)))
    }

    fn watch(&mut self, debuggee: u64, address: u64, length: u64, access: u64) -> Result<(u64,), Failure> {
        Ok((find_running(&self.debuggees, debuggee)?.watch(address, length, access)?,))
    }

    fn unwatch(&mut self, debuggee: u64, watch: u64) -> Result<(), Failure> {
        find_running(&self.debuggees, debuggee)?.unwatch(watch)
    }

    fn resume(&mut self, thread: u64) -> Result<(), Failure> {
        self.held(thread)?.resume();
        Ok(())
    }

    fn step(&mut self, thread: u64) -> Result<(), Failure> {
        let held = self.held(thread)?;
        if held.is_inside() {
            held.step_out();
            return Ok(());
        }
        let debuggee = self.debuggees.iter_mut().find(|debuggee| debuggee.attachment().id == held.attachment);
        held.step(debuggee.ok_or(Failure::new(Status::NotHeld, thread))?.step(thread, held.pc())?);
        Ok(())
    }

    fn hold(&mut self, debuggee: u64, thread: u64) -> Result<(), Failure> {
        find_running(&self.debuggees, debuggee)?.hold(thread)
    }

    fn registers(&mut self, thread: u64) -> Result<(&[u8],), Failure> {
        let held = self.held(thread)?;
        self.blob.keep(0);
        held.registers(&mut self.blob)?;
        Ok((&self.blob,))
    }

    fn set_registers(&mut self, thread: u64, registers: &[u8]) -> Result<(), Failure> {
        self.held(thread)?.set_registers(registers)
    }

    fn set_signal(&mut self, thread: u64, signal: u64) -> Result<(), Failure> {
        self.held(thread)?.set_signal(signal)
    }

    fn read_memory(&mut self, debuggee: u64, address: u64, length: u64) -> Result<(&[u8],), Failure> {
        let debuggee = find_running(&self.debuggees, debuggee)?;
        if length > MOST {
            return Err(Failure::new(Status::Limit, MOST));
        }
        zeroes(&mut self.blob, length as usize)?;
        let count = debuggee.memory().read(address, &mut self.blob)?;
        debuggee.breakpoints().clean(address, self.blob.get_mut(..count).unwrap_or_default());
        if count == 0 && length > 0 {
            return Err(Failure::new(Status::Memory, address));
        }
        Ok((self.blob.get(..count).unwrap_or_default(),))
    }

    fn write_memory(&mut self, debuggee: u64, address: u64, bytes: &[u8]) -> Result<(), Failure> {
        find_running(&self.debuggees, debuggee)?.breakpoints().overwrite(address, bytes, false)
    }

    fn mappings(&mut self, debuggee: u64) -> Result<(&[u8],), Failure> {
        find_running(&self.debuggees, debuggee)?.memory().mappings(&mut self.words)?;
        Ok((bytes(&self.words),))
    }
}
