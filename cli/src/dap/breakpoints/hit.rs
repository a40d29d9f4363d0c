//! What an arrival at a breakpoint means.

use serde_json::{Value, json};
use ubp::Event;

use super::wanted::Said;
use crate::dap::adapter::Adapter;
use crate::dap::lines::source;
use crate::dap::program::Placed;
use crate::filter::{Arrived, Formula, Verdict};

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

    /// Says what log points said whose threads did not stop.
    pub(in crate::dap) fn take_records(&mut self) {
        for record in self.session.take_records() {
            let (pid, address) = (record.pid, record.address.0);
            let Some(program) = self.programs.get(&pid) else { continue };
            let mut numbers: Vec<u64> = program
                .placed
                .values()
                .filter(|placed| placed.address == address)
                .map(|placed| placed.number)
                .collect();
            numbers.sort_unstable();
            for number in numbers {
                let Some(one) = self.wanted.all.get_mut(&number).filter(|one| one.is_plain_log()) else { continue };
                one.count += 1;
                let parts = one.log.iter().flatten();
                let text: String = parts
                    .filter_map(|part| if let Said::Text(text) = part { Some(text.as_str()) } else { None })
                    .collect();
                self.say_at(pid, address, &text);
            }
        }
    }

    fn say_at(&mut self, pid: ubp::Pid, address: u64, text: &str) {
        let place = self.programs.get(&pid).map(|program| program.space.modules.describe(address));
        let mut body: Value = json!({ "category": "console", "output": format!("{text}\n") });
        if let Some((path, line)) = place.and_then(|place| place.line) {
            body["source"] = source(&path);
            body["line"] = json!(line);
        }
        self.tell("output", body);
    }
}
