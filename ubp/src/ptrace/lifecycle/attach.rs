//! Attaching to running processes.

use super::super::Tracer;
use super::super::breakpoints::loader::loader_function;
use super::super::space::{Internal, Space};
use super::super::status::Status;
use super::super::sys;
use super::super::thread::Thread;
use super::super::tracees::Debuggee;
use super::seize::{seize_all, unseize};
use super::take_over::take_over;
use crate::process::read_process;
use crate::{Error, Pid, Result, Stdio};

impl Tracer {
    pub(in crate::ptrace) fn attach_process(&mut self, pid: Pid) -> Result<Pid> {
        let process = read_process(pid)?;
        if self.tracees.debuggees.contains_key(&pid) {
            return Err(Error::AlreadyTraced { pid, tracer: Pid(sys::own_pid()) });
        }
        let status = Status::read(pid.leader()).map_err(|_| Error::NoSuchProcess(pid))?;
        if status.process != pid.0 {
            return Err(Error::NoSuchProcess(pid));
        }
        if status.process == sys::own_pid() {
            return Err(Error::Tracer(pid));
        }
        if status.tracer != 0 && !self.reports.departing.is_process_departing(pid) {
            return Err(Error::AlreadyTraced { pid, tracer: Pid(status.tracer) });
        }
        let space = Space::new(pid, process.arch)?;
        let tids = match seize_all(pid) {
            Ok(tids) => tids,
            Err((error, tids)) => {
                tids.into_iter().for_each(|tid| unseize(&mut self.reports, tid));
                return Err(error);
            }
        };
        let space = self.tracees.add_space(space);
        let syscalls = self.tracees.options.syscalls;
        let debuggee = Debuggee { syscalls, ..Debuggee::new(process, space, Stdio::default(), false) };
        self.tracees.debuggees.insert(pid, debuggee);
        for tid in tids {
            self.reports.departing.keep(&mut self.tracees, tid);
            self.tracees.add_thread(Thread::new(tid, pid));
        }
        match self.prepare_attached(pid) {
            // Where the tracer can map no storage, an insertion fails as well and tells the user.
            Ok(()) | Err(Error::NoRoom { .. } | Error::Confined(_)) => Ok(pid),
            Err(error) => {
                self.detach_process(pid)?;
                Err(error)
            }
        }
    }

    fn prepare_attached(&mut self, pid: Pid) -> Result<()> {
        self.seize_sharers(pid)?;
        let of_jumps = take_over(&mut self.tracees, pid)?;
        if !of_jumps.is_empty() {
            // A thread that cannot be stopped is in the kernel.
            let halted = self.halt(pid)?;
            self.tracees.space_of_mut(pid)?.remove_left_jumps(&of_jumps);
            halted.map_or(Ok(()), |halted| self.go_on_all(halted))?;
        }
        match loader_function(&mut self.tracees, pid)? {
            Some(function) => self.insert_internal(pid, function, Internal::Loader),
            None => Ok(()),
        }
    }
}
