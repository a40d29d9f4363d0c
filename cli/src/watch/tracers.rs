//! Debuggees that are tracers themselves: strace, gdb, a program that protects itself from them.
//!
//! A thread has one tracer, and over ptrace that is ntrace. What such a program asks for fails, and it says so in its own words or in none.

use object::{Object, ObjectSymbol};
use ubp::{BreakpointId, Mechanism, Pid, Session, Tid};

use super::plant::Planter;
use super::proc::named;
use crate::native;
use crate::process::{Module, Role, Space};
use crate::symbols::{Image, Parsed};

/// Requests of ptrace(2) that make somebody a tracer.
const TRACEME: u64 = nix::libc::PTRACE_TRACEME as u64;
const ATTACH: u64 = nix::libc::PTRACE_ATTACH as u64;
const SEIZE: u64 = nix::libc::PTRACE_SEIZE as u64;

impl Planter {
    /// Stops at the C library's ptrace(2) of a module that has it.
    pub(super) fn watch_ptrace(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        module: &Module,
    ) -> ubp::Result<()> {
        if session.mechanism() != Mechanism::Ptrace || self.has_told(ALREADY) {
            return Ok(());
        }
        match ptrace_of(&module.image) {
            Some(address) => self.own(session, space, module.place(address), Role::Ptrace).map(drop),
            None => Ok(()),
        }
    }

    /// A thread calls ptrace(2): tells what will fail, once.
    pub(super) fn tell_of_ptrace(&mut self, session: &mut Session, pid: Pid, tid: Tid) -> ubp::Result<()> {
        let registers = session.registers(tid)?;
        let arguments = native::arguments(session, pid, &registers);
        let (Some(request), Some(&other)) = (arguments.first(), arguments.get(1)) else { return Ok(()) };
        // Both are of 32 bits; the upper halves of registers mean nothing.
        let (request, other) = (request & 0xffff_ffff, Tid(other as i32));
        let is_ours = |tid| session.processes().any(|process| process.threads().any(|thread| thread == tid));
        let process = named(pid.0);
        let what = match request {
            TRACEME => format!("{process} asks to be traced by its parent"),
            ATTACH | SEIZE if is_ours(other) => format!("{process} asks to trace {}", named(other.0)),
            _ => return Ok(()),
        };
        self.tell_once(
            ALREADY,
            format_args!(
                "{what}, which fails: ntrace traces it already, and there can be one tracer. With --no-follow ntrace leaves \
                 children alone; with --backend kernel it is no tracer of that kind"
            ),
        );
        Ok(())
    }

    /// Takes the breakpoint away where nothing is left to tell.
    pub(super) fn forget_ptrace(&self, session: &mut Session, space: &mut Space, id: BreakpointId) -> ubp::Result<()> {
        if !self.has_told(ALREADY) {
            return Ok(());
        }
        space.roles.remove(&id);
        session.remove(space.pid, &[id])
    }
}

/// The message, among those that are told once.
const ALREADY: &str = "ptrace";

/// The file's address of the function. A file that is linked to nothing has it in the table of all symbols, if anywhere.
fn ptrace_of(image: &Image) -> Option<u64> {
    let find = |file: &Parsed<'_>| {
        let is_static = file.dynamic_symbols().next().is_none();
        let mut all = if is_static { file.symbols() } else { file.dynamic_symbols() };
        all.find(|symbol| symbol.is_definition() && symbol.name_bytes() == Ok(b"ptrace")).map(|symbol| symbol.address())
    };
    image.with_file(find).flatten().filter(|address| image.is_code(*address))
}
