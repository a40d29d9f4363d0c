//! A held thread as agent expressions see it.

use ubp::{Address, Pid, Session, Tid};

use crate::agent::World;
use crate::arch::{Contents, Description};

pub(super) struct Thread<'a> {
    session: &'a mut Session,
    pid: Pid,
    tid: Tid,
    description: &'a Description,
    contents: Option<Contents>,
    printed: String,
}

impl<'a> Thread<'a> {
    pub(super) fn new(session: &'a mut Session, pid: Pid, tid: Tid, description: &'a Description) -> Thread<'a> {
        Thread { session, pid, tid, description, contents: None, printed: String::new() }
    }

    pub(super) fn into_printed(self) -> String {
        self.printed
    }
}

impl World for Thread<'_> {
    fn register(&mut self, number: u16) -> Option<u64> {
        if self.contents.is_none() {
            self.contents = Contents::read(self.session, self.tid).ok();
        }
        let register = self.description.register(number.into())?;
        let value = self.contents.as_mut()?.get(self.session, register)?;
        Some(value.iter().take(8).rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn memory(&mut self, address: u64, bytes: &mut [u8]) -> bool {
        self.session.read_memory(self.pid, Address(address), bytes).is_ok_and(|read| read == bytes.len())
    }

    fn print(&mut self, text: &str) {
        self.printed.push_str(text);
    }
}
