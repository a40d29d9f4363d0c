//! The dynamic loader's list of what it has loaded (link.h, `struct r_debug` and `struct link_map`), as the client reads it.

use std::fmt::Write;

use ubp::{Address, Pid, Session};

/// The most objects of a list and the longest path: the list is the program's, and may be anything.
const MOST_OBJECTS: usize = 10_000;
const LONGEST_PATH: usize = 4096;
const PT_PHDR: u64 = 6;
const PT_DYNAMIC: u64 = 2;
const DT_DEBUG: u64 = 21;
/// The most entries of a dynamic section.
const MOST_ENTRIES: u64 = 1024;

/// The document of loaded objects; `None` for a program without a loader, or before it has begun.
pub(super) fn document(session: &mut Session, pid: Pid) -> Option<String> {
    let mut memory = Memory::new(session, pid)?;
    let first = memory.list()?;
    let mut out = format!("<library-list-svr4 version=\"1.0\" main-lm=\"{first:#x}\">");
    let mut at = memory.word(first, 3).unwrap_or(0);
    for _ in 0..MOST_OBJECTS {
        if at == 0 {
            break;
        }
        let (bias, name, dynamic) = (memory.word(at, 0)?, memory.word(at, 1)?, memory.word(at, 2)?);
        let path = escaped(&memory.text(name));
        // Writing to a string does not fail.
        let _ = write!(
            out,
            "<library name=\"{path}\" lm=\"{at:#x}\" l_addr=\"{bias:#x}\" l_ld=\"{dynamic:#x}\" lmid=\"0x0\"/>"
        );
        at = memory.word(at, 3)?;
    }
    out.push_str("</library-list-svr4>");
    Some(out)
}

/// A text in an attribute.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&apos;")
}

struct Memory<'a> {
    session: &'a mut Session,
    pid: Pid,
    width: u64,
}

impl Memory<'_> {
    fn new(session: &mut Session, pid: Pid) -> Option<Memory<'_>> {
        let width = session.process(pid)?.arch().width() as u64;
        Some(Memory { session, pid, width })
    }

    fn bytes(&mut self, address: u64, length: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        let wanted = bytes.get_mut(..length as usize)?;
        let read = self.session.read_memory(self.pid, Address(address), wanted).ok()?;
        (read as u64 == length).then(|| u64::from_le_bytes(bytes))
    }

    /// The word at an index behind an address.
    fn word(&mut self, address: u64, index: u64) -> Option<u64> {
        self.bytes(address.checked_add(index * self.width)?, self.width)
    }

    fn text(&mut self, address: u64) -> String {
        let mut out = Vec::new();
        let mut buffer = [0; 64];
        while out.len() < LONGEST_PATH {
            let at = Address(address.wrapping_add(out.len() as u64));
            let read = self.session.read_memory(self.pid, at, &mut buffer).unwrap_or(0);
            let part = buffer.get(..read).unwrap_or_default();
            match part.iter().position(|&byte| byte == 0) {
                Some(end) => {
                    out.extend_from_slice(part.get(..end).unwrap_or_default());
                    break;
                }
                None if read == 0 => break,
                None => out.extend_from_slice(part),
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    }

    /// The address of the first object: the program.
    fn list(&mut self) -> Option<u64> {
        let (headers, size, count) = self.session.process(self.pid)?.auxv().program_headers()?;
        let (mut bias, mut dynamic) = (0, None);
        for index in 0..count.min(128) {
            let header = headers.0.checked_add(index.checked_mul(size)?)?;
            let kind = self.bytes(header, 4)?;
            let address = self.word(header, 2)?;
            match kind {
                PT_PHDR => bias = headers.0.wrapping_sub(address),
                PT_DYNAMIC => dynamic = Some(address),
                _ => {}
            }
        }
        let dynamic = dynamic?.wrapping_add(bias);
        let debug = (0..MOST_ENTRIES).find_map(|entry| match self.word(dynamic, 2 * entry) {
            Some(0) | None => Some(None),
            Some(DT_DEBUG) => Some(self.word(dynamic, 2 * entry + 1)),
            Some(_) => None,
        })??;
        let first = self.word(debug, 1)?;
        (first != 0).then_some(first)
    }
}
