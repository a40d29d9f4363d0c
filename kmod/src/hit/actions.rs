// SPDX-License-Identifier: GPL-2.0

//! What a breakpoint does with a thread: tells of it, holds it.

use fastpath::{Act, Registers};
use kernel::prelude::*;
use wire::events::Event;
use wire::site::{action, Base, Condition, Subject};

use crate::mm::current;
use crate::mm::space::Space;
use crate::thread::held::{self, Held, Reason, GENERAL};

/// Whether a condition holds for a thread at its site. One on memory that cannot be read does not.
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

/// A word of the general registers of the thread that runs here.
fn word(number: usize) -> Option<u64> {
    let mut general = [0; GENERAL];
    let length = held::current(&mut general);
    let words = general.get(..length)?.as_chunks().0;
    words.get(number).map(|word| u64::from_ne_bytes(*word))
}

/// Does it with the thread that runs here and stands at the site.
#[inline(never)]
pub(crate) fn act(space: &Space, act: &Act, registers: &mut Registers) {
    if act.site.condition.is_some_and(|condition| !holds(&condition, act.count)) {
        return;
    }
    let Some(watch) = space.watch(act.owner) else { return };
    let (actions, address) = (act.site.actions, act.site.address);
    if actions & action::RECORD != 0 {
        let mut general = [0; GENERAL];
        let length = if actions & action::REGISTERS != 0 { held::current(&mut general) } else { 0 };
        let base = match act.site.memory.base {
            Base::Stack => Some(registers.sp()),
            Base::Zero => Some(0),
            Base::Register(number) => word(usize::from(number)),
        };
        let mut memory = KVVec::new();
        // What cannot be had is left out.
        if let Some(base) = base {
            let _ = current::copy(
                base.wrapping_add(act.site.memory.offset),
                usize::from(act.site.memory.size),
                &mut memory,
            );
        }
        let event = Event::Hit {
            time: held::time(),
            debuggee: watch.debuggee,
            thread: watch.channel.thread(),
            address,
            count: act.count,
            registers: general.get(..length).unwrap_or_default(),
            memory: &memory,
        };
        // A loss is counted and told.
        let _ = watch.channel.tell(&event);
    }
    if actions & action::HOLD != 0 {
        Held::hold(&watch, Reason::Breakpoint, registers);
    }
}
