//! Code of the program, to find out what the kernel does not report: how threads pass a site, or why it was refused.

use wire::commands::{Command, Reply};

use super::channel::Channel;
use crate::arch::{self, MARGIN, MAX_LEN, Mode};
use crate::core::{Problem, prepare_near};
use crate::{InsertReason, Method};

/// Bytes of one read.
const CHUNK: u64 = 64 << 10;
/// Alignment of mappings: the smallest page size of all kernels.
const PAGE: u64 = 4096;

/// Code that is read in ascending order of addresses.
pub(super) struct Code<'a> {
    channel: &'a Channel,
    number: u64,
    mode: Mode,
    /// Address ranges of slots.
    storage: &'a [(u64, u64)],
    start: u64,
    /// Whether a mapping begins at `start`.
    is_first: bool,
    bytes: Vec<u8>,
}

impl<'a> Code<'a> {
    /// The code of a process whose breakpoints have `storage`.
    pub(super) fn new(channel: &'a Channel, number: u64, mode: Mode, storage: &'a [(u64, u64)]) -> Code<'a> {
        Code { channel, number, mode, storage, start: 0, is_first: false, bytes: Vec::new() }
    }

    /// How threads pass a site, or why it is refused.
    pub(super) fn method(&mut self, site: u64) -> Result<Method, InsertReason> {
        if site % arch::ALIGNMENT != 0 {
            return Err(InsertReason::Misaligned);
        }
        self.look(site);
        let (first, code) = self.window(site);
        let offset = (site - first) as usize;
        let bytes = code.get(offset..).filter(|bytes| !bytes.is_empty()).ok_or(InsertReason::NotMapped)?;
        if let Some(refusal) = arch::refusal(code, offset, site) {
            return Err(InsertReason::Refused(refusal));
        }
        match prepare_near(bytes.get(..MAX_LEN).unwrap_or(bytes), site, self.slot(site), self.mode) {
            Ok((passing, _)) => Ok(Method::of(&passing)),
            Err(Problem::NotAnInstruction(error)) => Err(InsertReason::NotAnInstruction(error)),
            Err(Problem::Refused(refusal)) => Err(InsertReason::Refused(refusal)),
        }
    }

    /// A possible address for the slot of a site.
    fn slot(&self, site: u64) -> u64 {
        let reaches = |&&(start, end): &&(u64, u64)| arch::reaches(start, end, site, site);
        let storage = self.storage.iter().find(reaches).or(self.storage.first());
        storage.map_or(site & !(PAGE - 1), |(start, _)| *start)
    }

    /// Reads the code that decides about a site, unless it was read before.
    fn look(&mut self, site: u64) {
        let (first, last) = (site.saturating_sub(MARGIN), site.saturating_add(MARGIN + MAX_LEN as u64));
        let end = self.start + self.bytes.len() as u64;
        // A short read ends at the end of the mapping.
        let is_short = (self.bytes.len() as u64) < CHUNK && site < end;
        let from = if self.is_first { site } else { first };
        if self.start <= from && (last <= end || is_short) {
            return;
        }
        self.bytes.clear();
        for (start, is_first) in [(first, false), (site & !(PAGE - 1), true)] {
            let read = Command::ReadMemory { debuggee: self.number, address: start, length: CHUNK };
            let bytes = self.channel.ask(read, |told| match told {
                Ok(Reply::ReadMemory { bytes }) => bytes.to_vec(),
                _ => Vec::new(),
            });
            (self.start, self.is_first) = (start, is_first);
            self.bytes = bytes.unwrap_or_default();
            if site < start + self.bytes.len() as u64 {
                return;
            }
        }
    }

    /// The code that decides about a site: its address and its bytes.
    fn window(&self, site: u64) -> (u64, &[u8]) {
        let first = site.saturating_sub(MARGIN).max(self.start);
        let code = self.bytes.get((first - self.start) as usize..).unwrap_or_default();
        (first, code.get(..2 * MARGIN as usize + MAX_LEN).unwrap_or(code))
    }
}
