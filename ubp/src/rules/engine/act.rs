//! The actions of rules.

use std::sync::Arc;

use super::super::action::Action;
use super::super::occurrence::{Captured, Occurrence, ThreadId};
use super::super::reader::Reader;
use super::super::rule::{Key, Rule};
use super::{Reaction, Refused, Rules, unless_gone};
use crate::ptrace::send_signal;
use crate::{Address, Error, Event, Result, Session};

impl Rules {
    /// Carries out the actions of a rule.
    pub(super) fn act(
        &mut self,
        session: &mut Session,
        event: &Event,
        number: usize,
        rule: &Rule,
        reaction: &mut Reaction,
    ) -> Result<()> {
        for action in &rule.actions {
            match action {
                Action::Record(payload) => {
                    let captured = Captured::new(payload, &mut Reader::new(session, event));
                    self.sequence += 1;
                    reaction.occurrences.push(Occurrence {
                        sequence: self.sequence,
                        time: event.time,
                        pid: event.pid,
                        thread: ThreadId::read(event.tid),
                        rule: self.names.get(number).map_or_else(|| "".into(), Arc::clone),
                        kind: event.kind.clone(),
                        captured,
                    });
                }
                Action::Aggregate(name) => self.add(session, event, name),
                Action::Hold if event.is_held() => {
                    self.held.insert((event.pid, event.tid));
                    reaction.hold = true;
                }
                Action::Hold => {}
                Action::Resume(group) => self.resume(session, event, group, reaction)?,
                Action::Insert(name) => {
                    if let Some(other) = self.rule_number(name) {
                        self.insert(session, event.pid, other, reaction)?;
                    }
                }
                Action::Remove(name) => {
                    if let Some(other) = self.rule_number(name) {
                        self.remove(session, event.pid, other)?;
                    }
                }
                Action::Watch { address, length, access } => {
                    if let Some(address) = Reader::new(session, event).value(*address) {
                        match session.watch(event.pid, Address(address), *length, *access) {
                            Err(error @ (Error::Watch(_) | Error::DebugRegisters(_))) => {
                                reaction.refused.push(Refused::Watch(error));
                            }
                            other => unless_gone(other.map(drop))?,
                        }
                    }
                }
                Action::Signal(signal) => match send_signal(event.pid.0, event.tid, signal.0) {
                    // The thread has ended.
                    Err(Error::System { source, .. }) if source.raw_os_error() == Some(libc::ESRCH) => {}
                    other => other?,
                },
                Action::Move(group) => {
                    if let (Some(from), Some(to)) = (self.group_number(&rule.group), self.group_number(group)) {
                        self.membership.move_thread(from, to, event.pid, event.tid);
                        self.arm(session, event.pid, reaction)?;
                    }
                }
                Action::Detach => {
                    unless_gone(session.detach(event.pid))?;
                    self.forget(event.pid);
                    reaction.detached = true;
                    return Ok(());
                }
                Action::Wake => reaction.wake = true,
            }
        }
        Ok(())
    }

    /// Adds an event to an aggregate.
    fn add(&mut self, session: &mut Session, event: &Event, name: &str) {
        let Some(number) = self.aggregate_number(name) else { return };
        let Some(summary) = self.set.aggregates.get(number) else { return };
        let mut reader = Reader::new(session, event);
        let key = match summary.key {
            Key::One => 0,
            Key::Process => event.pid.0 as u64,
            Key::Thread => event.tid.0 as u64,
            Key::Location => reader.registers().map_or(0, |registers| registers.pc().0),
            Key::Value(value) => reader.value(value).unwrap_or_default(),
        };
        // An occurrence without the value is no value.
        let value = match summary.value {
            Some(value) => reader.value(value),
            None => Some(1),
        };
        if let (Some(sums), Some(value)) = (self.sums.get_mut(number), value) {
            sums.add(key, value);
        }
    }

    /// Resumes the threads of a group that rules hold.
    fn resume(&mut self, session: &mut Session, event: &Event, group: &str, reaction: &mut Reaction) -> Result<()> {
        let held: Vec<_> = self.held.iter().copied().filter(|(pid, tid)| self.is_in_group(group, *pid, *tid)).collect();
        for (pid, tid) in held {
            self.held.remove(&(pid, tid));
            if (pid, tid) == (event.pid, event.tid) {
                reaction.hold = false;
            } else {
                unless_gone(session.resume(tid))?;
            }
        }
        Ok(())
    }

    fn rule_number(&self, name: &str) -> Option<usize> {
        self.set.rules.iter().position(|rule| rule.name == name)
    }
}
