//! Stacks, and what the client knows of them while the program is stopped.

use serde::Deserialize;
use serde_json::{Value, json};
use ubp::{Pid, Tid};

use super::adapter::Adapter;
use super::lines::source;
use super::refusal::{Answered, Refusal};
use super::shown::ShownFrame;

/// What `stackTrace` has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StackFields {
    thread_id: i64,
    #[serde(default)]
    start_frame: usize,
    #[serde(default)]
    levels: usize,
}

impl Adapter {
    pub(super) fn stack_trace(&mut self, fields: &StackFields) -> Answered {
        self.check_stopped()?;
        let (pid, tid) = self.process_of(fields.thread_id)?;
        self.frames_of(pid, tid)?;
        let own: Vec<(usize, &ShownFrame)> =
            self.shown.frames.iter().enumerate().filter(|(_, frame)| frame.tid == tid).collect();
        let levels = if fields.levels == 0 { own.len() } else { fields.levels };
        let wanted = own.iter().skip(fields.start_frame).take(levels);
        let frames: Vec<Value> = wanted.map(|(number, frame)| self.described_frame(*number, frame)).collect();
        Ok(json!({ "stackFrames": frames, "totalFrames": own.len() }))
    }

    /// The index of the innermost frame of a thread.
    pub(super) fn frames_of(&mut self, pid: Pid, tid: Tid) -> Result<usize, Refusal> {
        if let Some(known) = self.shown.frames.iter().position(|frame| frame.tid == tid) {
            return Ok(known);
        }
        let Adapter { session, programs, shown, .. } = self;
        let program = programs.get_mut(&pid).ok_or_else(|| Refusal::new("the process has ended"))?;
        let frames = program.space.modules.stack(session, tid)?;
        let first = shown.frames.len();
        let frames = frames.into_iter().enumerate();
        shown.frames.extend(frames.map(|(depth, frame)| ShownFrame { pid, tid, depth, frame }));
        Ok(first)
    }

    /// A frame that the client names by its number.
    pub(super) fn frame(&self, number: usize) -> Result<&ShownFrame, Refusal> {
        let known = number.checked_sub(1).and_then(|index| self.shown.frames.get(index));
        known.ok_or_else(|| Refusal::new(format!("there is no frame {number} now")))
    }

    fn described_frame(&self, number: usize, shown: &ShownFrame) -> Value {
        let place = &shown.frame.place;
        let module = place.module.as_deref().unwrap_or_default();
        let name = match place.function() {
            Some(function) => function.to_owned(),
            None => format!("{module}!{:#x}", place.offset),
        };
        let mut body = json!({
            "id": number + 1, "name": name, "line": 0, "column": 0,
            "instructionPointerReference": format!("{:#x}", shown.frame.address.0),
        });
        let program = self.programs.get(&shown.pid);
        if let Some(module) = program.and_then(|program| program.space.module(shown.frame.address.0)) {
            body["moduleId"] = json!(format!("{}:{:#x}", shown.pid, module.bias));
        }
        match &place.line {
            Some((path, line)) => {
                body["source"] = source(path);
                body["line"] = json!(line);
                body["column"] = json!(1);
            }
            None => body["presentationHint"] = json!("subtle"),
        }
        body
    }
}
