//! `qXfer`: documents and raw objects that the client reads in pieces.

use ubp::Pid;

use super::answer::{Answer, EINVAL};
use super::{Server, link_map, signal_info};
use crate::protocol::{MOST_BYTES, hex};

/// The contents of an object, or `None` where there is none.
type Reader = fn(&mut Server, annex: &[u8]) -> Option<Vec<u8>>;

const OBJECTS: &[(&[u8], Reader)] = &[
    (b"features", |server, annex| (annex == b"target.xml").then(|| server.description())?.map(String::into_bytes)),
    (b"auxv", |server, _| server.auxiliary_vector()),
    (b"exec-file", Server::executable),
    (b"threads", |server, _| Some(server.thread_document().into_bytes())),
    (b"libraries-svr4", |server, _| {
        let (pid, _) = server.selected?;
        link_map::document(&mut server.session, pid).map(String::into_bytes)
    }),
    (b"siginfo", |server, _| {
        let (_, tid) = server.selected?;
        let info = server.session.signal_info(tid).ok()??;
        Some(signal_info::bytes(&info).to_vec())
    }),
];

/// `qXfer:OBJECT:read:ANNEX:OFFSET,LENGTH`.
pub(super) fn read(server: &mut Server, text: &[u8]) -> Answer {
    let parse = || {
        let (object, rest) = hex::split(text, b':')?;
        let rest = rest.strip_prefix(b"read:")?;
        let colon = rest.iter().rposition(|&byte| byte == b':')?;
        Some((object, rest.get(..colon)?, hex::pair(rest.get(colon + 1..)?, b',')?))
    };
    let Some((object, annex, (offset, length))) = parse() else { return Answer::Error(EINVAL) };
    let Some((_, reader)) = OBJECTS.iter().find(|(name, _)| *name == object) else { return Answer::Unknown };
    match reader(server, annex) {
        Some(contents) => piece(&contents, offset, length),
        None => Answer::Error(EINVAL),
    }
}

/// A part of the contents; `l` before it says that it is the last one.
fn piece(contents: &[u8], offset: u64, length: u64) -> Answer {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(contents.len());
    let most = MOST_BYTES / 2 - 8;
    let end = start.saturating_add(usize::try_from(length).unwrap_or(most).min(most)).min(contents.len());
    let mark: &[u8] = if end == contents.len() { b"l" } else { b"m" };
    Answer::Bytes([mark, contents.get(start..end).unwrap_or_default()].concat())
}

impl Server {
    fn description(&self) -> Option<String> {
        let (pid, _) = self.selected?;
        Some(self.inferiors.get(&pid)?.description.xml())
    }

    fn auxiliary_vector(&self) -> Option<Vec<u8>> {
        let (pid, _) = self.selected?;
        std::fs::read(format!("/proc/{}/auxv", self.session.process(pid)?.pid())).ok()
    }

    /// The path of a process's program: that of the annex, or the selected one's.
    fn executable(&mut self, annex: &[u8]) -> Option<Vec<u8>> {
        let pid = match hex::number(annex) {
            Some(pid) => Pid(pid as i32),
            None => self.selected?.0,
        };
        Some(self.session.process(pid)?.executable().as_os_str().as_encoded_bytes().to_vec())
    }

    fn thread_document(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\"?><threads>");
        for (pid, tid) in self.threads() {
            let name = self.thread_name(tid).unwrap_or_default();
            let id = crate::protocol::ThreadId::of(pid, tid);
            out.push_str(&format!("<thread id=\"{id}\" name=\"{name}\"/>"));
        }
        out + "</threads>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_joined_to_the_whole() {
        assert_eq!(piece(b"contents", 0, 3), Answer::Bytes(b"mcon".into()));
        assert_eq!(piece(b"contents", 3, 100), Answer::Bytes(b"ltents".into()));
        assert_eq!(piece(b"contents", u64::MAX, u64::MAX), Answer::Bytes(b"l".into()));
    }
}
