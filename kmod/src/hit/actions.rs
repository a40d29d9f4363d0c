// SPDX-License-Identifier: GPL-2.0

//! The actions of a breakpoint: an event, and holding the thread.

use fastpath::{Act, Registers};
use kernel::prelude::*;
use wire::events::Event;
use wire::site::{action, Condition, Site, Subject};

use crate::channel::channel::time;
use crate::mm::atomic::{bring_in, Atomic, MOST_FAULTS};
use crate::mm::current;
use crate::process::traced::Traced;
use crate::rules::reader::Reader;
use crate::rules::table::Rules;
use crate::thread::held::{general_registers, GENERAL};
use crate::thread::hold::{hold, Reason};

/// Whether a condition holds for the current thread at its site. A condition on memory that cannot be read does not hold.
#[inline(never)]
fn holds(condition: &Condition, rules: &Rules, reader: &mut Reader<'_>, record: u64) -> bool {
    let value = match condition.subject {
        Subject::Hits => Some(reader.count),
        Subject::Register(number) => reader.register(number),
        Subject::Memory { address, size } => reader.memory(address, size as u8),
        Subject::Rule { .. } => return is_taken(rules, condition.value, reader, record),
    };
    value.is_some_and(|value| condition.relation.holds(value, condition.value))
}

/// Whether a rule acts on the hit. A hit that it takes is counted in the breakpoint's record, and one on which it acts in its aggregate.
fn is_taken(rules: &Rules, number: u64, reader: &mut Reader<'_>, record: u64) -> bool {
    let Some((rule, aggregate)) = rules.find(number) else { return false };
    if !rule.takes(reader) {
        return false;
    }
    count(record.wrapping_add(Site::TAKEN));
    let acts = rule.admits();
    if let (true, Some(aggregate)) = (acts, aggregate) {
        aggregate.add(reader);
    }
    acts
}

/// Adds one to a number in the debuggee's memory, which the debuggee may have unmapped.
fn count(at: u64) {
    for _ in 0..MOST_FAULTS {
        // SAFETY: nothing sleeps until `atomic` is dropped.
        let atomic = unsafe { Atomic::new() };
        let is_counted = fastpath::add(at);
        drop(atomic);
        if is_counted || !bring_in(at, true) {
            return;
        }
    }
}

/// Carries out the actions of a breakpoint for the current thread, whose pc is the site.
#[inline(never)]
pub(crate) fn act(traced: &Traced, act: &Act, registers: &Registers) {
    let Some(attachment) = traced.attachment(act.owner) else { return };
    let (actions, address) = (act.site.actions, act.site.address);
    let session = (&attachment.channel().opener, attachment.debuggee);
    let mut reader = Reader::new(session, &traced.space, registers, address, act.count);
    let rules = &attachment.registry.rules;
    if act.site.condition.is_some_and(|condition| !holds(&condition, rules, &mut reader, act.record)) {
        return;
    }
    if actions & action::RECORD != 0 {
        let mut general = [0; GENERAL];
        let length = if actions & action::REGISTERS != 0 { general_registers(&mut general) } else { 0 };
        let mut memory = KVVec::new();
        // Memory that cannot be read is left out.
        if let Some(base) = reader.base(act.site.memory.base) {
            let _ = current::copy(
                base.wrapping_add(act.site.memory.offset),
                usize::from(act.site.memory.size),
                &mut memory,
            );
        }
        let event = Event::Hit {
            time: time(),
            debuggee: attachment.debuggee,
            thread: attachment.channel().opener.this_thread(),
            address,
            count: act.count,
            registers: general.get(..length).unwrap_or_default(),
            memory: &memory,
        };
        attachment.tell_one_of_many(&event);
    }
    if actions & action::HOLD != 0 {
        hold(&attachment, Reason::Breakpoint, registers);
    }
}
