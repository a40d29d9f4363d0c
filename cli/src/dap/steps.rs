//! Steps by source lines or instructions. `stepped` and `passed` decide after each move of a thread, and `step_on` makes the next one.

use insn::Flow;
use serde::Deserialize;
use serde_json::Value;
use ubp::{Address, Pid, Registers, Tid};
use ubp_symbols::code;

use super::adapter::Adapter;
use super::events::{Next, gone_is_fine};
use super::lines::{mode, past_prologue};
use super::refusal::{Answered, Refusal};
use super::step::{Goal, Granularity, Kind, Step, Then};
use super::stop::{Reason, Stop};
use crate::failure::Result;

/// The most instructions of a stub that leads to a function.
const STUB: u32 = 8;

/// What `next`, `stepIn` and `stepOut` have.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StepFields {
    thread_id: i64,
    #[serde(default)]
    single_thread: bool,
    #[serde(default)]
    granularity: Granularity,
}

impl Adapter {
    pub(super) fn step_over(&mut self, fields: &StepFields) -> Answered {
        self.begin_step(fields, Kind::Over)
    }

    pub(super) fn step_in(&mut self, fields: &StepFields) -> Answered {
        self.begin_step(fields, Kind::In)
    }

    pub(super) fn step_out(&mut self, fields: &StepFields) -> Answered {
        self.begin_step(fields, Kind::Out)
    }

    fn begin_step(&mut self, fields: &StepFields, kind: Kind) -> Answered {
        self.check_stopped()?;
        let (pid, tid) = self.process_of(fields.thread_id)?;
        let pc = self.session.registers(tid)?.pc().0;
        let line = self.line_of(pid, pc);
        let by_instruction = line.is_none() && kind != Kind::Out;
        let granularity = if by_instruction { Granularity::Instruction } else { fields.granularity };
        let goal = match kind {
            Kind::Out => match self.caller(pid, tid) {
                Some((address, sp)) => Goal::Reach { address, sp, then: Then::Returned },
                None => return Err(Refusal::new("nothing tells the caller of this function")),
            },
            Kind::Over | Kind::In => Goal::Choose,
        };
        if fields.single_thread {
            self.is_running = true;
            self.shown.forget();
        } else {
            self.resume_others(Some(tid));
        }
        if self.pending.is_empty() {
            self.steps.insert(tid, Step { kind, granularity, line, goal, stub: 0 });
            self.step_on(pid, tid).map_err(|failure| Refusal::new(failure.to_string()))?;
        }
        Ok(Value::Null)
    }

    /// Makes the next move of a step.
    pub(super) fn step_on(&mut self, pid: Pid, tid: Tid) -> Result<()> {
        let Some(step) = self.steps.get(&tid) else { return Ok(()) };
        let (kind, goal) = (step.kind, step.goal);
        let Ok(registers) = self.session.registers(tid) else { return Ok(()) };
        let goal = match goal {
            Goal::Choose | Goal::Next(_) => self.choose(pid, &registers, kind),
            reach @ Goal::Reach { .. } => reach,
        };
        if let Some(step) = self.steps.get_mut(&tid) {
            step.goal = goal;
        }
        let moved = match (self.owed.remove(&tid), goal) {
            // The step leads into the handler, if the signal has one.
            (Some(signal), _) => self.session.step_with(tid, Some(signal)),
            (None, Goal::Reach { address, .. }) => self.session.run_to(tid, Address(address)),
            (None, Goal::Next(Flow::Call | Flow::Return) | Goal::Choose) => self.session.step(tid),
            // A repeated string instruction is one step.
            (None, Goal::Next(_)) => self.session.step_over(tid),
        };
        if let Err(ubp::Error::Insert(error)) = moved {
            // The step ends where it is.
            self.say(&format!("the step ends here: {error}"));
            self.steps.remove(&tid);
            self.pending.push_back(Stop { pid, tid, reason: Reason::Step });
            return Ok(());
        }
        gone_is_fine(moved)
    }

    /// The goal of a thread that goes on from its pc.
    fn choose(&self, pid: Pid, registers: &Registers, kind: Kind) -> Goal {
        let pc = registers.pc().0;
        let insn = self.instruction(pid, pc);
        match insn {
            Some(insn) if insn.flow == Flow::Call && kind == Kind::Over => {
                Goal::Reach { address: pc.wrapping_add(insn.len as u64), sp: registers.sp().0, then: Then::Look }
            }
            Some(insn) => Goal::Next(insn.flow),
            None => Goal::Next(Flow::Next),
        }
    }

    fn instruction(&self, pid: Pid, pc: u64) -> Option<code::Insn> {
        let module = self.programs.get(&pid)?.space.module(pc)?;
        let mut bytes = [0; 15];
        let read = self.session.read_memory(pid, Address(pc), &mut bytes).ok()?;
        code::decode(bytes.get(..read)?, pc, mode(module))
    }

    /// The line of an address in memory.
    fn line_of(&self, pid: Pid, address: u64) -> Option<(String, u32)> {
        self.programs.get(&pid)?.space.modules.describe(address).line
    }

    /// Whether an address is the first of a row of the line table.
    fn begins_row(&self, pid: Pid, address: u64) -> bool {
        let module = self.programs.get(&pid).and_then(|program| program.space.module(address));
        module.is_some_and(|module| {
            let at = module.in_file(address);
            let rows = module.image.lines().map(|lines| lines.rows(at..at.saturating_add(1)));
            rows.is_some_and(|rows| rows.iter().any(|row| row.addresses.start == at))
        })
    }

    /// The return address of a thread's function, and the thread's stack pointer.
    fn caller(&mut self, pid: Pid, tid: Tid) -> Option<(u64, u64)> {
        let registers = self.session.registers(tid).ok()?;
        let frames = self.programs.get_mut(&pid)?.space.modules.backtrace(&self.session, tid).ok()?;
        Some((frames.get(1)?.address.0, registers.sp().0))
    }

    /// A move is done.
    pub(super) fn stepped(&mut self, pid: Pid, tid: Tid) -> Next {
        let Some(step) = self.steps.get(&tid).cloned() else { return Next::GoOn };
        let Ok(registers) = self.session.registers(tid) else { return Next::Nothing };
        let next = match step.goal {
            Goal::Reach { address, sp, .. } if registers.pc().0 != address || registers.sp().0 < sp => Next::Step,
            Goal::Reach { then: Then::Stop, .. } => Next::Tell(Reason::Step),
            _ if step.granularity == Granularity::Instruction => Next::Tell(Reason::Step),
            Goal::Reach { then: Then::Returned, .. } | Goal::Next(Flow::Return) => self.returned(pid, tid, &registers),
            Goal::Next(Flow::Call) => self.entered(pid, tid, &registers),
            Goal::Next(_) if step.stub > 0 => self.entered(pid, tid, &registers),
            Goal::Next(_) | Goal::Choose | Goal::Reach { then: Then::Look, .. } => self.look(pid, tid, &registers),
        };
        if next != Next::Step {
            self.steps.remove(&tid);
        }
        next
    }

    /// A breakpoint that does not stop the program ended the move of a thread.
    pub(super) fn passed(&mut self, pid: Pid, tid: Tid) -> Next {
        self.stepped(pid, tid)
    }

    /// The line at the thread's pc decides.
    fn look(&mut self, pid: Pid, tid: Tid, registers: &Registers) -> Next {
        let pc = registers.pc().0;
        let line = self.line_of(pid, pc);
        let Some(step) = self.steps.get_mut(&tid) else { return Next::GoOn };
        if line.is_none() {
            // It jumped into code without lines, which returns to a caller of this function.
            return self.leave(pid, tid);
        }
        step.goal = Goal::Choose;
        let is_other = line != step.line;
        if is_other && self.begins_row(pid, pc) { Next::Tell(Reason::Step) } else { Next::Step }
    }

    /// The thread is at the first instruction of a function that was called.
    fn entered(&mut self, pid: Pid, tid: Tid, registers: &Registers) -> Next {
        let pc = registers.pc().0;
        let module = self.programs.get(&pid).and_then(|program| program.space.module(pc));
        if self.line_of(pid, pc).is_some() {
            let address = module.map_or(pc, |module| past_prologue(module, pc));
            if address == pc {
                return Next::Tell(Reason::Step);
            }
            let Some(step) = self.steps.get_mut(&tid) else { return Next::GoOn };
            step.goal = Goal::Reach { address, sp: 0, then: Then::Stop };
            return Next::Step;
        }
        // A stub of the linker leads on by a jump.
        let is_stub = module.is_some_and(|module| {
            let symbol = module.image.symbols().holding(module.in_file(pc));
            symbol.is_none_or(|symbol| symbol.kind == ubp_symbols::Kind::Plt)
        });
        let Some(step) = self.steps.get_mut(&tid) else { return Next::GoOn };
        step.stub += 1;
        if is_stub && step.stub <= STUB {
            step.goal = Goal::Choose;
            return Next::Step;
        }
        step.stub = 0;
        let back = self.session.return_address(pid, registers);
        match (back, self.steps.get_mut(&tid)) {
            (Some(address), Some(step)) => {
                step.goal = Goal::Reach { address: address.0, sp: registers.sp().0, then: Then::Look };
                Next::Step
            }
            _ => Next::GoOn,
        }
    }

    /// The function of the step has returned.
    fn returned(&mut self, pid: Pid, tid: Tid, registers: &Registers) -> Next {
        match self.line_of(pid, registers.pc().0) {
            Some(_) => Next::Tell(Reason::Step),
            None => self.leave(pid, tid),
        }
    }

    /// The thread is in code without lines: it runs until that returns. Without a caller it runs on.
    fn leave(&mut self, pid: Pid, tid: Tid) -> Next {
        let caller = self.caller(pid, tid);
        match (caller, self.steps.get_mut(&tid)) {
            (Some((address, sp)), Some(step)) => {
                step.goal = Goal::Reach { address, sp, then: Then::Returned };
                Next::Step
            }
            _ => Next::GoOn,
        }
    }
}
