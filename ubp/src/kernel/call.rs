//! Function calls in the debuggee.
//!
//! The channel gives no access to vector registers and cannot block signals, so the thread is traced by ptrace while it runs the function.

use std::collections::VecDeque;

use wire::commands::Command;

use super::channel::Told;
use super::events::reason;
use super::{Kernel, cannot, failed};
use crate::backend::Blocking;
use crate::ptrace::Borrowed;
use crate::{Address, Error, Pid, Result, Tid};

impl Kernel {
    pub(super) fn call(&mut self, tid: Tid, function: Address, args: &[u64]) -> Result<u64> {
        let pid = self.pid_of_held(tid)?;
        if self.held.get(&tid).is_some_and(|held| held.is_about_to_call || held.signal.is_some()) {
            return Err(cannot(
                "call a function in a thread that is held at the beginning of a system call or at a signal",
            ));
        }
        let mut kept = VecDeque::new();
        let mut passed = Vec::new();
        let result = self.call_by_ptrace(pid, tid, function, args, &mut kept, &mut passed);
        self.channel.put_back(kept);
        passed.into_iter().for_each(|address| self.uncount(pid, address));
        if matches!(result, Err(Error::NoSuchThread(_))) {
            self.held.remove(&tid);
        }
        result
    }

    fn call_by_ptrace(
        &mut self,
        pid: Pid,
        tid: Tid,
        function: Address,
        args: &[u64],
        kept: &mut VecDeque<Told>,
        passed: &mut Vec<u64>,
    ) -> Result<u64> {
        let mut registers = self.registers(tid)?;
        let pc = crate::arch::pc(&registers.raw);
        let mut borrowed = Borrowed::seize(pid, tid)?;
        // The pc is moved away from the breakpoint, whose instruction would be executed otherwise, to an address without code.
        crate::arch::set_pc(&mut registers.raw, 0);
        self.set_registers(tid, &registers)?;
        let (channel, thread) = (&self.channel, tid.0 as u64);
        channel.post(Command::Resume { thread })?;
        let result = borrowed.call(pc, function, args, &mut |child| {
            while let Some(told) = channel.next(Blocking::Never)? {
                match told {
                    Told::Held { thread: held, reason, address, .. } if held == thread => {
                        // The function hit a breakpoint.
                        passed.extend((reason == reason::BREAKPOINT).then_some(address));
                        channel.post(Command::Resume { thread }).map(drop)?
                    }
                    // The thread was held there too.
                    Told::Said { thread: said, .. } if said == thread => {}
                    told => kept.push_back(told),
                }
            }
            channel.wait_beside(child)
        });
        if matches!(result, Err(Error::NoSuchThread(_))) {
            return result;
        }
        let debuggee = self.debuggee(pid)?.number;
        let hold = Command::Hold { debuggee, thread };
        let told = channel.ask(hold, |told| told.map(drop))?;
        borrowed.release()?;
        told.map_err(|failure| failed(pid, "hold", failure))?;
        loop {
            let told = channel.next(Blocking::Always)?;
            let is_over = match told {
                Some(Told::Held { thread: held, .. }) if held == thread => break,
                Some(Told::ThreadEnded { thread: ended, .. }) => ended == thread,
                Some(Told::Ended { debuggee: ended, .. }) => ended == debuggee,
                _ => false,
            };
            kept.extend(told);
            if is_over {
                return Err(Error::NoSuchThread(tid));
            }
        }
        borrowed.stop_the_job()?;
        let is_where_it_was = crate::arch::pc(&self.registers(tid)?.raw) == pc;
        if let Some(held) = self.held.get_mut(&tid) {
            held.came_back = is_where_it_was;
            // The thread is in a signal handler, and will return to the site.
            if !is_where_it_was {
                self.passing.extend(held.site.take().map(|site| (tid, (pid, site))));
            }
        }
        result
    }
}
