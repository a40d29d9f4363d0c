//! `g`, `G`, `p`, `P`: registers.

use super::Server;
use super::answer::{Answer, EINVAL};
use crate::arch::{Contents, Description, Register};
use crate::protocol::hex;

impl Server {
    /// The registers of the selected thread and their description; `None` if it is not held.
    fn contents(&mut self) -> Option<(Contents, Description)> {
        let (pid, tid) = self.selected?;
        let description = self.inferiors.get(&pid)?.description.clone();
        Some((Contents::read(&mut self.session, tid).ok()?, description))
    }

    pub(super) fn read_registers(&mut self) -> Answer {
        let Some((mut contents, description)) = self.contents() else { return Answer::Error(EINVAL) };
        let text: String = description.registers().map(|register| self.text(&mut contents, register)).collect();
        Answer::Text(text)
    }

    /// A register's digits; `x` for each if the thread does not have it.
    fn text(&mut self, contents: &mut Contents, register: &Register) -> String {
        match contents.get(&mut self.session, register) {
            Some(value) => hex::encode(&value),
            None => "x".repeat(2 * register.bytes),
        }
    }

    pub(super) fn read_register(&mut self, text: &[u8]) -> Answer {
        let number = hex::number(text);
        let Some((mut contents, description)) = self.contents() else { return Answer::Error(EINVAL) };
        match number.and_then(|number| description.register(number)) {
            Some(register) => Answer::Text(self.text(&mut contents, register)),
            None => Answer::Error(EINVAL),
        }
    }

    pub(super) fn write_registers(&mut self, text: &[u8]) -> Answer {
        let Some((mut contents, description)) = self.contents() else { return Answer::Error(EINVAL) };
        let mut rest = text;
        for register in description.registers() {
            let Some((digits, others)) = rest.split_at_checked(2 * register.bytes) else { break };
            rest = others;
            let Some(value) = hex::decode(digits) else { continue };
            let is_same = contents.get(&mut self.session, register).is_some_and(|present| present == value);
            if !is_same && contents.set(&mut self.session, register, &value).is_none() {
                return Answer::Wrong(format!("the register {} cannot be set to this value", register.name));
            }
        }
        Answer::Ok
    }

    pub(super) fn write_register(&mut self, text: &[u8]) -> Answer {
        let parsed =
            hex::split(text, b'=').and_then(|(number, value)| Some((hex::number(number)?, hex::decode(value)?)));
        let (Some((number, value)), Some((mut contents, description))) = (parsed, self.contents()) else {
            return Answer::Error(EINVAL);
        };
        match description.register(number).and_then(|register| contents.set(&mut self.session, register, &value)) {
            Some(()) => Answer::Ok,
            None => Answer::Error(EINVAL),
        }
    }
}
