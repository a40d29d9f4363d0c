//! The tracer's own copy of an arena: a look-up costs no system call, and no debuggee can mislead it.

use crate::core::{Inaccessible, Memory};

const PAGE: usize = 4096;

/// The bytes of an arena, and the pages that the debuggee does not have yet.
#[derive(Clone, Debug)]
pub(in crate::ptrace) struct Mirror {
    bytes: Vec<u8>,
    dirty: Vec<bool>,
    any_dirty: bool,
}

impl Mirror {
    pub(in crate::ptrace) fn new(size: u64) -> Mirror {
        let size = usize::try_from(size).unwrap_or(0).next_multiple_of(PAGE);
        Mirror { bytes: vec![0; size], dirty: vec![false; size / PAGE], any_dirty: false }
    }

    /// A mirror of bytes that the debuggee has.
    pub(in crate::ptrace) fn of(bytes: Vec<u8>) -> Mirror {
        let mut mirror = Mirror::new(bytes.len() as u64);
        let size = mirror.bytes.len();
        mirror.bytes = bytes;
        mirror.bytes.resize(size, 0);
        mirror
    }

    /// Passes every run of dirty pages to `write`, which returns whether it wrote all of them: then the pages are clean. Returns whether all are.
    pub(in crate::ptrace) fn flush(&mut self, mut write: impl FnMut(u64, &[u8]) -> bool) -> bool {
        if !self.any_dirty {
            return true;
        }
        let mut done = true;
        let mut page = 0;
        while let Some(start) = self.dirty.iter().skip(page).position(|&dirty| dirty).map(|at| at + page) {
            let length = self.dirty.iter().skip(start).take_while(|&&dirty| dirty).count();
            page = start + length;
            let run = self.bytes.get(start * PAGE..page * PAGE).unwrap_or_default();
            match self.dirty.get_mut(start..page).filter(|_| write((start * PAGE) as u64, run)) {
                Some(pages) => pages.fill(false),
                None => done = false,
            }
        }
        self.any_dirty = !done;
        done
    }
}

impl Memory for Mirror {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Inaccessible> {
        self.bytes.as_slice().read(offset, buffer)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
        self.bytes.as_mut_slice().write(offset, bytes)?;
        let start = offset as usize / PAGE;
        let end = (offset as usize + bytes.len()).div_ceil(PAGE);
        if let Some(pages) = self.dirty.get_mut(start..end) {
            pages.fill(true);
        }
        self.any_dirty = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flush_hands_over_dirty_pages_once_in_runs() {
        let mut mirror = Mirror::new(10 * PAGE as u64);
        for offset in [PAGE + 1, 2 * PAGE + 5, 7 * PAGE - 1] {
            mirror.write(offset as u64, &[1, 2]).unwrap();
        }
        let mut runs = Vec::new();
        assert!(mirror.flush(|offset, bytes| {
            runs.push((offset as usize / PAGE, bytes.len() / PAGE));
            true
        }));
        assert_eq!(runs, [(1, 2), (6, 2)]);
        assert!(mirror.flush(|_, _| false));
    }

    #[test]
    fn pages_that_could_not_be_written_stay_dirty() {
        let mut mirror = Mirror::new(10 * PAGE as u64);
        mirror.write(0, &[1]).unwrap();
        mirror.write(5 * PAGE as u64, &[1]).unwrap();
        assert!(!mirror.flush(|offset, _| offset == 0));
        let mut runs = Vec::new();
        assert!(mirror.flush(|offset, _| {
            runs.push(offset as usize / PAGE);
            true
        }));
        assert_eq!(runs, [5]);
    }
}
