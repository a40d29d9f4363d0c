//! What an arrival at a breakpoint means.

use serde_json::{Value, json};
use ubp::{Event, Pid, Record};

use super::wanted::Said;
use crate::dap::adapter::Adapter;
use crate::dap::lines::source;
use crate::dap::program::Placed;
use crate::filter::{Arrived, Formula, Verdict};

/// The most lines of a log point that one event of the protocol has.
const LINES: usize = 1000;

impl Adapter {
    /// Whether an arrival stops the program. A log point says its text here.
    pub(in crate::dap) fn is_wanted(&mut self, event: &Event, placed: &Placed, count: u64) -> bool {
        let Adapter { session, programs, wanted, began, .. } = self;
        let (Some(program), Some(one)) = (programs.get_mut(&event.pid), wanted.all.get_mut(&placed.number)) else {
            return false;
        };
        let time = event.time.saturating_sub(*began);
        let mut arrived = Arrived::new(session, &mut program.space, event, placed.address, count, time);
        if let Some(bound) = &placed.bound {
            if !matches!(bound.judge(&mut arrived), Verdict::Wanted) {
                return false;
            }
        }
        one.count += 1;
        if one.hits.is_some_and(|hits| !hits.holds(one.count)) {
            return false;
        }
        let Some(said) = one.log.clone() else { return true };
        let mut text = String::new();
        for part in said {
            match part {
                Said::Text(part) => text.push_str(&part),
                Said::Value(formula, name) => text.push_str(&self.logged(event, placed.address, &formula, &name)),
            }
        }
        text.push('\n');
        self.say_at(event.pid, placed.address, &text);
        false
    }

    /// The value of an expression of a log point.
    fn logged(&mut self, event: &Event, address: u64, formula: &Formula, name: &str) -> String {
        if let Some(value) = self.value_at(event.pid, event.tid, name) {
            return value;
        }
        let Adapter { session, programs, began, .. } = self;
        let Some(program) = programs.get_mut(&event.pid) else { return String::new() };
        let time = event.time.saturating_sub(*began);
        let mut arrived = Arrived::new(session, &mut program.space, event, address, 0, time);
        formula.value(&mut arrived).unwrap_or_else(|problem| format!("<{name}: {problem}>"))
    }

    /// Says what log points said whose threads did not stop. Hits of one log point that follow each other are told together.
    pub(in crate::dap) fn take_records(&mut self) {
        let records = self.session.take_records();
        let place = |record: &Record| (record.pid, record.address.0);
        for run in records.chunk_by(|one, other| place(one) == place(other)) {
            let Some((pid, address)) = run.first().map(place) else { continue };
            for (number, text) in self.plain_texts(pid, address) {
                if let Some(one) = self.wanted.all.get_mut(&number) {
                    one.count += run.len() as u64;
                }
                for part in run.chunks(LINES) {
                    self.say_at(pid, address, &text.repeat(part.len()));
                }
            }
        }
    }

    /// The log points at an address that say the same at each hit: their numbers and their lines.
    fn plain_texts(&self, pid: Pid, address: u64) -> Vec<(u64, String)> {
        let placed = self.programs.get(&pid).into_iter().flat_map(|program| program.placed.values());
        let mut numbers: Vec<u64> =
            placed.filter(|placed| placed.address == address).map(|placed| placed.number).collect();
        numbers.sort_unstable();
        let text = |number: u64| {
            let said = self.wanted.all.get(&number).filter(|one| one.is_plain_log())?.log.iter().flatten();
            let text = said.filter_map(|part| if let Said::Text(text) = part { Some(text.as_str()) } else { None });
            Some((number, text.collect::<String>() + "\n"))
        };
        numbers.into_iter().filter_map(text).collect()
    }

    /// Shows lines of a log point.
    fn say_at(&mut self, pid: Pid, address: u64, lines: &str) {
        let place = self.programs.get(&pid).map(|program| program.space.modules.describe(address));
        let mut body: Value = json!({ "category": "console", "output": lines });
        if let Some((path, line)) = place.and_then(|place| place.line) {
            body["source"] = source(&path);
            body["line"] = json!(line);
        }
        self.tell("output", body);
    }
}
