// SPDX-License-Identifier: GPL-2.0

//! The actions of a breakpoint: an event, and holding the thread.

use fastpath::arch::within;
use fastpath::{chunks, Act, Registers};
use kernel::prelude::*;
use wire::events::Event;
use wire::site::{action, Base, Condition, Subject};

use crate::channel::channel::time;
use crate::mm::current;
use crate::process::traced::Traced;
use crate::thread::held::{general_registers, GENERAL};
use crate::thread::hold::{hold, Reason};

/// Whether a condition holds for the current thread at its site. A condition on memory that cannot be read does not hold.
#[inline(never)]
fn holds(condition: &Condition, count: u64) -> bool {
    let value = match condition.subject {
        Subject::Hits => Some(count),
        Subject::Register(number) => word(usize::from(number)),
        Subject::Memory { address, size } => {
            let mut bytes = [0; 8];
            let part = bytes.get_mut(..usize::from(size));
            part.is_some_and(|part| current::fill(address, part)).then(|| u64::from_le_bytes(bytes))
        }
    };
    value.is_some_and(|value| condition.relation.holds(value, condition.value))
}

/// A word of the general registers of the current thread.
fn word(number: usize) -> Option<u64> {
    let mut general = [0; GENERAL];
    let length = general_registers(&mut general);
    let words = chunks(general.get(..length)?);
    // The program may have written any number.
    let number = (number < words.len()).then(|| within(number, words.len()))?;
    words.get(number).map(|word| u64::from_ne_bytes(*word))
}

/// Carries out the actions of a breakpoint for the current thread, whose pc is the site.
#[inline(never)]
pub(crate) fn act(traced: &Traced, act: &Act, registers: &Registers) {
    if act.site.condition.is_some_and(|condition| !holds(&condition, act.count)) {
        return;
    }
    let Some(attachment) = traced.attachment(act.owner) else { return };
    let (actions, address) = (act.site.actions, act.site.address);
    if actions & action::RECORD != 0 {
        let mut general = [0; GENERAL];
        let length = if actions & action::REGISTERS != 0 { general_registers(&mut general) } else { 0 };
        let base = match act.site.memory.base {
            Base::Stack => Some(registers.sp()),
            Base::Zero => Some(0),
            Base::Register(number) => word(usize::from(number)),
        };
        let mut memory = KVVec::new();
        // Memory that cannot be read is left out.
        if let Some(base) = base {
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
