//! Begin and end of the recorded part of a run.

use std::io::Write;

use super::Recorder;
use super::error::RecordError;
use super::part::{Part, Stage};
use crate::item::EventKind;

impl<W: Write> Recorder<W> {
    /// Records a part of the run alone. It begins at once if `begun`, and else where `part` says. When it ends, [`Recorder::advance`] returns
    /// `false`, and [`Recorder::finish`] lets the threads go.
    ///
    /// # Errors
    /// The trace cannot be written.
    pub fn keep_to(&mut self, part: impl Part + 'static, begun: bool) -> Result<(), RecordError> {
        self.part = Some(Box::new(part));
        if begun { Ok(()) } else { self.leave_out(Stage::Before) }
    }

    /// Whether the part of the run that is recorded has begun.
    pub fn has_begun(&self) -> bool {
        self.stage != Stage::Before
    }

    /// Whether the recording is over, although threads may run.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Looks whether the part begins or ends at an instruction that a thread is about to run, and takes the thread into the trace within it.
    pub(super) fn choose(&mut self, tid: u32, pid: u32, pc: u64) -> Result<(), RecordError> {
        if let Some(part) = &mut self.part {
            if let Some(process) = self.processes.get_mut(&pid) {
                let fresh = process.fresh_mappings(pc);
                fresh.iter().for_each(|mapping| part.mapped(mapping));
                process.unwritten.extend(fresh);
            }
            if self.stage == Stage::Before && part.begins(pid, pc) {
                self.stage = Stage::Within;
            } else if self.stage == Stage::Within && part.ends(pid, pc) {
                return self.leave_out(Stage::Over);
            }
        }
        if self.stage == Stage::Within {
            self.take_in(tid, 0)?;
        }
        Ok(())
    }

    /// Takes a thread into the trace, if it is not there.
    pub(super) fn take_in(&mut self, tid: u32, by: u32) -> Result<(), RecordError> {
        let thread = self.thread(tid)?;
        if std::mem::replace(&mut thread.recorded, true) {
            return Ok(());
        }
        // The width of the code stands before the first instruction.
        thread.bits = None;
        self.tell(tid, EventKind::Started { by })
    }

    /// Takes all threads out of the trace.
    pub(super) fn leave_out(&mut self, stage: Stage) -> Result<(), RecordError> {
        self.stage = stage;
        let recorded: Vec<u32> =
            self.threads.iter().filter(|(_, thread)| thread.recorded).map(|(&tid, _)| tid).collect();
        for tid in recorded {
            self.tell(tid, EventKind::Released)?;
            self.thread(tid)?.recorded = false;
        }
        Ok(())
    }
}
