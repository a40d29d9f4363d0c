//! `m`, `M`, `x`, `X`: memory.

use ubp::Address;

use super::Server;
use super::answer::{Answer, EFAULT, EINVAL};
use crate::protocol::{MOST_BYTES, hex};

impl Server {
    /// Memory at `ADDRESS,LENGTH`, as far as it can be read; `None` if nothing can.
    fn read(&mut self, text: &[u8]) -> Result<Vec<u8>, Answer> {
        let (address, length) = hex::pair(text, b',').ok_or(Answer::Error(EINVAL))?;
        let (pid, _) = self.selected.ok_or(Answer::Error(EINVAL))?;
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX).min(MOST_BYTES / 2 - 8)];
        if bytes.is_empty() {
            return Ok(bytes);
        }
        let read = self.session.read_memory(pid, Address(address), &mut bytes).map_err(|_| Answer::Error(EFAULT))?;
        bytes.truncate(read);
        Ok(bytes)
    }

    pub(super) fn read_memory_hex(&mut self, text: &[u8]) -> Answer {
        match self.read(text) {
            Ok(bytes) => Answer::Text(hex::encode(&bytes)),
            Err(answer) => answer,
        }
    }

    pub(super) fn read_memory_binary(&mut self, text: &[u8]) -> Answer {
        match self.read(text) {
            Ok(bytes) => Answer::Bytes([b"b", &bytes[..]].concat()),
            Err(answer) => answer,
        }
    }

    pub(super) fn write_memory_hex(&mut self, text: &[u8]) -> Answer {
        match hex::split(text, b':').and_then(|(place, digits)| Some((place, hex::decode(digits)?))) {
            Some((place, bytes)) => self.write(place, &bytes),
            None => Answer::Error(EINVAL),
        }
    }

    pub(super) fn write_memory_binary(&mut self, text: &[u8]) -> Answer {
        match hex::split(text, b':') {
            Some((place, bytes)) => self.write(place, bytes),
            None => Answer::Error(EINVAL),
        }
    }

    fn write(&mut self, place: &[u8], bytes: &[u8]) -> Answer {
        let Some((address, length)) = hex::pair(place, b',') else { return Answer::Error(EINVAL) };
        let Some((pid, _)) = self.selected.filter(|_| length == bytes.len() as u64) else {
            return Answer::Error(EINVAL);
        };
        if bytes.is_empty() {
            return Answer::Ok;
        }
        match self.session.write_memory(pid, Address(address), bytes) {
            Ok(()) => Answer::Ok,
            Err(_) => Answer::Error(EFAULT),
        }
    }
}
