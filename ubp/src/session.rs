use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use crate::arch;
use crate::backend::{Backend, Blocking};
use crate::module::modules;
use crate::ptrace::Tracer;
use crate::{
    Access, Address, Aggregated, Aggregation, AggregationId, Breakpoint, BreakpointId, Error, Event, Follow, FollowId,
    InsertError, InsertReason, Mechanism, Module, NoJump, Options, Patch, Pid, Process, Record, RegisterSet, Registers,
    Result, Signal, SignalInfo, Spec, Stdio, Syscalls, ThreadInfo, Tid, VectorRegisters, WatchId,
};

/// A tracer and its debuggees.
///
/// An operation that fails changes nothing: a held thread stays held, and a process stays as it is. A thread or process that is killed at
/// any moment reports its end by an event, whatever an operation on it answers.
///
/// A session belongs to the thread that made it, as ptrace attachments do. When dropped, it detaches from every process as
/// [`Session::detach`] does, and waits for threads that cannot be stopped (see [`Session::leave`]).
#[derive(Debug)]
pub struct Session {
    backend: Box<dyn Backend>,
    /// Only the thread that attached may use ptrace.
    not_send: PhantomData<*const ()>,
}

impl Session {
    /// A session over ptrace(2) without debuggees, with the default [`Options`].
    ///
    /// # Errors
    /// [`Error::SecondSession`] if the thread already has a session, and
    /// [`Error::System`] if the process has no file descriptor left.
    pub fn new() -> Result<Session> {
        Session::with_options(Options::default())
    }

    /// A session over ptrace(2) without debuggees.
    ///
    /// # Errors
    /// The errors of [`Session::new`].
    pub fn with_options(options: Options) -> Result<Session> {
        Session::open(Mechanism::Ptrace, options)
    }

    /// A session over the given mechanism without debuggees.
    ///
    /// # Errors
    /// With ptrace the errors of [`Session::new`]. With the kernel module [`Error::File`] if it is not loaded, and
    /// [`Error::Unsupported`] if it does not support the options, or if this crate is built without its feature `module`.
    pub fn open(mechanism: Mechanism, options: Options) -> Result<Session> {
        let backend: Box<dyn Backend> = match mechanism {
            Mechanism::Ptrace => Box::new(Tracer::new(options)?),
            Mechanism::Kernel => kernel(options)?,
            Mechanism::Auto => match kernel(options) {
                Ok(kernel) => kernel,
                Err(_) => Box::new(Tracer::new(options)?),
            },
        };
        Ok(Session { backend, not_send: PhantomData })
    }

    /// The session's mechanism, never [`Mechanism::Auto`].
    pub fn mechanism(&self) -> Mechanism {
        self.backend.mechanism()
    }

    /// Starts a program and holds it at its first instruction: insert breakpoints, then resume [`Pid::leader`].
    /// [`EventKind::Loaded`](crate::EventKind::Loaded) is delivered before code of a library runs.
    ///
    /// # Errors
    /// [`Error::Spawn`] if the program cannot be executed.
    pub fn spawn(&mut self, command: Command) -> Result<Pid> {
        self.backend.spawn(command)
    }

    /// The pipes of a program started by [`Session::spawn`]. A second call for the same program returns none.
    pub fn take_stdio(&mut self, pid: Pid) -> Stdio {
        self.backend.take_stdio(pid)
    }

    /// Begins to trace all threads of a running process, and all processes that share its memory, without stopping them.
    ///
    /// # Errors
    /// [`Error::NoSuchProcess`], [`Error::Permission`],
    /// [`Error::AlreadyTraced`]; [`Error::SharedMemory`] if a process that shares
    /// the memory cannot be traced; [`Error::Uninterruptible`] if no thread can be stopped within a second.
    /// The process continues unchanged then.
    pub fn attach(&mut self, pid: Pid) -> Result<Pid> {
        self.backend.attach(pid)
    }

    /// Begins to trace processes from the moment at which they execute a program: everything that runs a program of some name, everything that a
    /// user starts, or everything that begins in a control group or a PID namespace. Each is reported by
    /// [`EventKind::Followed`](crate::EventKind::Followed), held before the program's first instruction. Processes that this session
    /// traces already are left alone, as are those that the tracer may not trace, and programs that the kernel starts for itself.
    ///
    /// Without `CAP_SYS_PTRACE` only processes of the tracer's own real user are followed. A session that follows does not end with its last
    /// process: [`Session::wait`] waits for the next one.
    ///
    /// # Errors
    /// [`Error::Unsupported`] over ptrace(2), which tells a tracer of no process that it does not trace; [`Error::Follow`].
    pub fn follow(&mut self, follow: &Follow) -> Result<FollowId> {
        self.backend.follow(follow)
    }

    /// Follows no further processes for [`Session::follow`]. An unknown id is ignored. Processes that are traced stay traced; one that executed its
    /// program before this may still be reported.
    ///
    /// # Errors
    /// The errors of [`Session::poll`].
    pub fn unfollow(&mut self, id: FollowId) -> Result<()> {
        self.backend.unfollow(id)
    }

    /// Sums hits up where they happen, in the kernel or by the code of a jump: no event is made, and no thread waits for this process. Breakpoints name
    /// the aggregation by [`Spec::aggregate`]. A hit of a breakpoint that shares its site with others, or that holds its thread, is added by the session.
    ///
    /// Over ptrace(2) on x86-64 the value is a whole general register, the key has the process and the location at most, and the buckets are
    /// [`Buckets::Log2`](crate::core::Buckets::Log2), if there are any. Where no jump is ([`Spec::patch`], [`NoJump`]), each hit is a trap. All processes that
    /// share a memory are one.
    ///
    /// # Errors
    /// [`Error::Unsupported`] over ptrace(2) for any other aggregation: [`Report::Record`](crate::Report::Record) tells of each hit, and `rules` sums
    /// up in the tracer; [`Error::Aggregation`].
    pub fn aggregate(&mut self, aggregation: &Aggregation) -> Result<AggregationId> {
        self.backend.aggregate(aggregation)
    }

    /// Ends an aggregation. An unknown id is ignored. Its breakpoints stay.
    ///
    /// # Errors
    /// The errors of [`Session::poll`].
    pub fn end_aggregation(&mut self, id: AggregationId) -> Result<()> {
        self.backend.end_aggregation(id)
    }

    /// What an aggregation has summed up so far, of all processes, also of those that have ended. The kernel's rows are of one moment.
    /// Over ptrace(2) the threads of a process are stopped while new hits are read of its jumps, as they are while a jump is inserted. A thread that is
    /// killed in the midst of an addition may leave its last hit incomplete.
    ///
    /// # Errors
    /// [`Error::Aggregation`] for an unknown id, or without memory.
    pub fn aggregated(&mut self, id: AggregationId) -> Result<Aggregated> {
        self.backend.aggregated(id, false)
    }

    /// As [`Session::aggregated`], and the aggregation is empty afterwards: each hit is in one result.
    ///
    /// # Errors
    /// As [`Session::aggregated`].
    pub fn take_aggregated(&mut self, id: AggregationId) -> Result<Aggregated> {
        self.backend.aggregated(id, true)
    }

    /// Stops tracing a process: restores the original bytes, moves threads out of slots, unmaps the storage, resumes held threads.
    /// Processes that share its memory and were not asked for are detached with it. While a process that was asked for shares the memory,
    /// this one stays traced without events until that one is detached too.
    ///
    /// A thread in an uninterruptible wait, mostly in `vfork` for its child, cannot be stopped. `detach` waits for it for at most one
    /// second. After that the thread is detached when its wait ends: by the next call for events, or when the session or the calling thread
    /// ends.
    ///
    /// # Errors
    /// [`Error::NoSuchProcess`] if the process does not belong to this session.
    pub fn detach(&mut self, pid: Pid) -> Result<()> {
        self.backend.detach(pid)
    }

    /// Ends the session of a thread that is about to end. Processes are detached as by [`Session::detach`], except that threads in `vfork`
    /// are left to the kernel, which detaches them when the calling thread ends. A dropped session waits for such threads instead.
    pub fn leave(mut self) {
        self.backend.leave();
    }

    /// Waits for the next event; returns `None` if no debuggee is left and nothing is followed. It waits for ever if all threads are held.
    ///
    /// # Errors
    /// A system call failed for a reason other than the end of a debuggee.
    pub fn wait(&mut self) -> Result<Option<Event>> {
        self.backend.next_event(Blocking::Always)
    }

    /// As [`Session::wait`], until `stop` is set: then it returns an event that there is already, or `None`.
    ///
    /// `stop` is looked at before each wait in the kernel, and when a signal handler has run in the waiting thread that was installed
    /// without `SA_RESTART`. So to end the wait from another thread, set `stop` and send such a signal to the waiting thread
    /// (`pthread_kill`), again until the call returns: the signal may arrive before the wait begins.
    ///
    /// # Errors
    /// The errors of [`Session::wait`].
    pub fn wait_unless(&mut self, stop: &AtomicBool) -> Result<Option<Event>> {
        self.backend.next_event(Blocking::Unless(stop))
    }

    /// The next event, if there is one now. Call it whenever the session's file descriptor is readable, because it also handles hits of
    /// breakpoints that only count.
    ///
    /// It returns one event. Several may be waiting behind one readiness of the descriptor, so a loop takes them all before it waits again:
    ///
    /// ```no_run
    /// # fn wait_until_readable() {}
    /// # fn run(session: &mut ubp::Session) -> ubp::Result<()> {
    /// loop {
    ///     while let Some(event) = session.poll()? {
    ///         if event.is_held() {
    ///             session.resume(event.tid)?;
    ///         }
    ///     }
    ///     if session.processes().next().is_none() {
    ///         return Ok(());
    ///     }
    ///     // poll(2), epoll(7) or an event loop, on the session's descriptor.
    ///     wait_until_readable();
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`Session::wait`].
    pub fn poll(&mut self) -> Result<Option<Event>> {
        self.backend.next_event(Blocking::Never)
    }

    /// Resumes the thread of an event: it passes the breakpoint, or gets the reported signal.
    ///
    /// # Errors
    /// [`Error::NoSuchThread`], [`Error::NotHeld`].
    pub fn resume(&mut self, tid: Tid) -> Result<()> {
        self.backend.resume(tid)
    }

    /// Resumes the thread of an event, with `signal` in place of the reported one. A signal that is given at a hit arrives before the
    /// instruction is executed.
    ///
    /// # Errors
    /// The errors of [`Session::resume`]; [`Error::NoSuchSignal`]; [`Error::System`] if
    /// the kernel can queue no further signal (`RLIMIT_SIGPENDING`); [`Error::Unsupported`] over the kernel module where the
    /// thread just made a process.
    pub fn resume_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        self.backend.resume_with(tid, signal)
    }

    /// Lets a held thread execute one instruction, as the processor single-steps it; [`EventKind::Stepped`](crate::EventKind::Stepped)
    /// follows. A breakpoint at the instruction is passed, and one at the next instruction is hit: that event is the only one then.
    ///
    /// - A system call is one instruction, and so is each repetition of a repeated string instruction.
    /// - An instruction that holds off the processor's trap (`mov ss`, `pop ss`) is executed together with the next one, unless there is
    ///   a breakpoint on it.
    /// - If a signal with a handler comes first, or the reported signal has one, the step ends at the handler's first instruction.
    /// - The thread is held as well by other events on the way, such as [`EventKind::Signal`](crate::EventKind::Signal), and completes the
    ///   step when it is resumed. [`EventKind::Hit`](crate::EventKind::Hit), [`EventKind::Exec`](crate::EventKind::Exec) and
    ///   [`EventKind::Interrupted`](crate::EventKind::Interrupted) end the step.
    ///
    /// # Errors
    /// The errors of [`Session::resume`].
    pub fn step(&mut self, tid: Tid) -> Result<()> {
        self.backend.step(tid)
    }

    /// [`Session::step`], with `signal` in place of the reported one; `None` drops it.
    ///
    /// # Errors
    /// The errors of [`Session::resume_with`].
    pub fn step_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        self.backend.step_with(tid, signal)
    }

    /// [`Session::step`], which passes a call with everything that is called, and a repeated string instruction with all repetitions. The
    /// thread runs to the next instruction, to the same frame: it is not held there in a deeper call of the same function. All
    /// breakpoints on the way are hit. A call that does not return is not ended by [`EventKind::Stepped`](crate::EventKind::Stepped).
    ///
    /// # Errors
    /// The errors of [`Session::run_to`].
    pub fn step_over(&mut self, tid: Tid) -> Result<()> {
        let registers = self.backend.registers(tid)?;
        let owner = self.backend.processes().find(|process| process.threads.contains(&tid));
        let pid = owner.ok_or(Error::NoSuchThread(tid))?.pid;
        let mut code = [0; arch::MAX_LEN];
        let read = self.backend.read_memory(pid, registers.pc(), &mut code).unwrap_or(0);
        let mode = arch::mode(arch::arch(&registers.raw));
        match arch::decode(code.get(..read).unwrap_or(&code), mode) {
            Ok(insn) if arch::is_passed_whole(&insn) => {
                let next = registers.pc() + arch::length(&insn) as u64;
                self.backend.run_to(tid, next, Some(registers.sp().0))
            }
            _ => self.backend.step(tid),
        }
    }

    /// Lets a held thread run until it is about to execute the instruction at `address`, in whatever frame. Other threads pass that
    /// address. [`Session::step`] says which events there are on the way.
    ///
    /// # Errors
    /// The errors of [`Session::resume`], and [`Error::Insert`] if no breakpoint can be set at the address.
    pub fn run_to(&mut self, tid: Tid, address: Address) -> Result<()> {
        self.backend.run_to(tid, address, None)
    }

    /// Stops every running thread of a process. Each is reported by [`EventKind::Interrupted`](crate::EventKind::Interrupted), or by
    /// another event that was pending. Blocking system calls continue afterwards, as if they had not been interrupted.
    ///
    /// # Errors
    /// [`Error::NoSuchProcess`].
    pub fn interrupt(&mut self, pid: Pid) -> Result<()> {
        self.backend.interrupt(pid)
    }

    /// Stops one running thread, which is reported as by [`Session::interrupt`]. A thread that is held stays so, without an event.
    ///
    /// # Errors
    /// [`Error::NoSuchThread`].
    pub fn interrupt_thread(&mut self, tid: Tid) -> Result<()> {
        self.backend.interrupt_thread(tid)
    }

    /// Holds every thread of a process, also those that the process makes meanwhile, and returns when all are held. Each thread waits for
    /// [`Session::resume`] then.
    ///
    /// Events that arise meanwhile, of this and other processes, are delivered by [`Session::wait`] afterwards. A thread with such an event
    /// stays held until the event is delivered and the thread is resumed after that; an earlier resume does nothing. Threads without an
    /// event get none. The call ends if the process ends, or if a thread waits uninterruptibly for a second.
    ///
    /// # Errors
    /// [`Error::NoSuchProcess`], also if the process ends meanwhile; its end is reported.
    /// [`Error::Uninterruptible`] if a thread cannot be stopped within a second, such as one in `vfork`: the
    /// other threads continue then, except those with an event.
    pub fn stop(&mut self, pid: Pid) -> Result<()> {
        self.backend.stop(pid)
    }

    /// Whether a thread is held, so that it can be resumed.
    pub fn is_held(&self, tid: Tid) -> bool {
        self.backend.is_held(tid)
    }

    /// The threads of a process with their names and what they do at this moment.
    ///
    /// # Errors
    /// [`Error::NoSuchProcess`].
    pub fn threads(&self, pid: Pid) -> Result<Vec<ThreadInfo>> {
        self.backend.threads(pid)
    }

    /// The signal that a held thread gets when it is resumed; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::NotHeld`], [`Error::NoSuchThread`].
    pub fn signal_info(&self, tid: Tid) -> Result<Option<SignalInfo>> {
        self.backend.signal_info(tid)
    }

    /// Chooses the system calls of a process that are reported, in place of those chosen before. When this returns, calls of all threads
    /// are reported, except of threads in an uninterruptible wait, which are once they leave it.
    ///
    /// # Errors
    /// [`Error::NoSuchProcess`]; [`Error::Unsupported`] over the kernel module if it cannot.
    pub fn trace_syscalls(&mut self, pid: Pid, syscalls: Syscalls) -> Result<()> {
        self.backend.trace_syscalls(pid, syscalls)
    }

    /// Watches memory by the processor's debug registers, in all threads of a process and those that it makes later; a forked child has a
    /// copy of the watchpoint, as of breakpoints. [`EventKind::Watched`](crate::EventKind::Watched) reports each access, also one that an
    /// instruction at a breakpoint makes. Accesses by the kernel, for a system call, are reported over the
    /// kernel module alone.
    ///
    /// A range takes as many registers as it has aligned parts of 1, 2, 4 or 8 bytes (on arm64 of 8 bytes, whole or not). x86 has four
    /// registers, arm64 has those that the processor has. Watchpoints of the same part and access share a register. An exec ends all.
    ///
    /// # Errors
    /// [`Error::Watch`] names what is wrong with the range, or who has the registers;
    /// [`Error::DebugRegisters`]; [`Error::NoSuchProcess`];
    /// [`Error::Unsupported`] over the kernel module on arm64.
    pub fn watch(&mut self, pid: Pid, address: Address, length: u64, access: Access) -> Result<WatchId> {
        self.backend.watch(pid, address, length, access)
    }

    /// Removes a watchpoint. An unknown one is ignored. Accesses before this are still reported, if their event is queued.
    ///
    /// # Errors
    /// [`Error::NoSuchProcess`].
    pub fn unwatch(&mut self, pid: Pid, id: WatchId) -> Result<()> {
        self.backend.unwatch(pid, id)
    }

    /// A process of this session.
    pub fn process(&self, pid: Pid) -> Option<&Process> {
        self.backend.process(pid)
    }

    /// Whether two processes of this session run in the same memory, as a child of vfork(2) does until it executes a program, and so share
    /// their breakpoints. Over the kernel module always `false`.
    pub fn shares_memory(&self, pid: Pid, other: Pid) -> bool {
        self.backend.shares_memory(pid, other)
    }

    /// The processes of this session.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        self.backend.processes()
    }

    /// The modules of a process at this moment, ascending: the ELF files that are mapped as code, and the vDSO. Their headers and build IDs are
    /// read from memory. A module whose ELF header is not mapped is left out.
    ///
    /// # Errors
    /// [`Error::NoSuchProcess`] if the process does not belong to this session or has ended.
    pub fn modules(&self, pid: Pid) -> Result<Vec<Module>> {
        let maps = self.process(pid).ok_or(Error::NoSuchProcess(pid))?.maps()?;
        let read = |address, buffer: &mut [u8]| self.read_memory(pid, Address(address), buffer).unwrap_or(0);
        Ok(modules(&maps, &read))
    }

    /// The bias of the first module with this path ([`Module::bias`]): the difference between addresses in memory and in the file. `None` if
    /// no such file is mapped as code.
    ///
    /// # Errors
    /// The errors of [`Session::modules`].
    pub fn bias(&self, pid: Pid, path: impl AsRef<Path>) -> Result<Option<u64>> {
        let modules = self.modules(pid)?;
        Ok(modules.iter().find(|module| module.path == path.as_ref()).map(|module| module.bias))
    }

    /// Inserts breakpoints, while the process may run. The result has one entry for each of `specs`, in their order. Several breakpoints
    /// at one address share the site.
    ///
    /// Before the end of a process is reported, its memory is gone already: each breakpoint fails then with
    /// [`InsertReason::NotMapped`].
    ///
    /// # Errors
    /// The process is gone.
    /// [`Error::Uninterruptible`] if a jump is in the way and a thread cannot be stopped within a second. The failure of one
    /// breakpoint is in its entry.
    pub fn insert(&mut self, pid: Pid, specs: &[Spec]) -> Result<Vec<Result<BreakpointId, InsertError>>> {
        let process = self.backend.process(pid).ok_or(Error::NoSuchProcess(pid))?;
        let has_jumps = self.backend.mechanism() == Mechanism::Ptrace;
        let check = |spec: &Spec| {
            spec.check(process.arch, |tid| process.threads.contains(&tid))?;
            if spec.aggregation.is_some_and(|id| !self.backend.has_aggregation(id)) {
                return Err(InsertReason::NoSuchAggregation);
            }
            let lacks = spec.patch == Patch::Jump && !has_jumps;
            if lacks { Err(InsertReason::NoJump(NoJump::Mechanism)) } else { Ok(()) }
        };
        let checks: Vec<_> = specs.iter().map(check).collect();
        if checks.iter().all(|check| check.is_ok()) {
            return self.backend.insert(pid, specs);
        }
        let good: Vec<Spec> =
            specs.iter().zip(&checks).filter(|(_, check)| check.is_ok()).map(|(spec, _)| spec.clone()).collect();
        let mut inserted = self.backend.insert(pid, &good)?.into_iter();
        let answers = specs.iter().zip(checks).map(|(spec, check)| {
            let refused = |reason| Err(InsertError { address: spec.address, reason });
            match check {
                Ok(()) => inserted.next().unwrap_or(refused(InsertReason::NotMapped)),
                Err(reason) => refused(reason),
            }
        });
        Ok(answers.collect())
    }

    /// Takes the records of hits ([`Report::Record`](crate::Report::Record)) of all processes since the last call, in the order of their times. A later
    /// call may return earlier records of other threads. All hits of a thread that were recorded before an event of its own are there when that
    /// event is returned.
    ///
    /// Nothing wakes a session when there are records: call this after events, and from time to time. A record waits in memory that the tracer
    /// shares with the debuggee; [`Options::buffer`] tells how many find room there, and what happens to the next one.
    pub fn take_records(&mut self) -> Vec<Record> {
        self.backend.take_records()
    }

    /// The number of hits of all processes that code did not record or overwrote ([`Options::buffer`]), as of the last
    /// [`Session::take_records`]. Zero with [`WhenFull::Wait`](crate::WhenFull::Wait).
    pub fn lost_records(&self) -> u64 {
        self.backend.lost_records()
    }

    /// Removes breakpoints, while the process may run, or has ended without a report yet. Unknown ids are ignored.
    ///
    /// # Errors
    /// The process is gone.
    pub fn remove(&mut self, pid: Pid, ids: &[BreakpointId]) -> Result<()> {
        self.backend.remove(pid, ids)
    }

    /// A breakpoint of a process, with its present counts. After an exec the breakpoints of the previous program are inactive. Those of
    /// a process that ended are available until the next [`Session::wait`] or [`Session::poll`] after the event of its end.
    pub fn breakpoint(&self, pid: Pid, id: BreakpointId) -> Option<Breakpoint> {
        self.backend.breakpoint(pid, id)
    }

    /// All breakpoints of a process, oldest first.
    pub fn breakpoints(&self, pid: Pid) -> impl Iterator<Item = Breakpoint> {
        self.backend.breakpoints(pid)
    }

    /// The registers of a held thread.
    ///
    /// # Errors
    /// The thread is not held, or gone.
    pub fn registers(&self, tid: Tid) -> Result<Registers> {
        self.backend.registers(tid)
    }

    /// Sets the registers of a held thread.
    ///
    /// # Errors
    /// The thread is not held, or gone; [`Error::System`] if the kernel refuses a value. No register is changed then.
    pub fn set_registers(&mut self, tid: Tid, registers: &Registers) -> Result<()> {
        self.backend.set_registers(tid, registers)
    }

    /// A register set of a held thread, in the kernel's layout. The general registers of a thread in a slot are those that
    /// [`Session::registers`] tells.
    ///
    /// # Errors
    /// [`Error::NoRegisterSet`]; [`Error::NotHeld`],
    /// [`Error::NoSuchThread`]; [`Error::Unsupported`] over the kernel module.
    pub fn register_set(&self, tid: Tid, set: RegisterSet) -> Result<Vec<u8>> {
        self.backend.register_set(tid, set)
    }

    /// Sets a register set of a held thread, in the kernel's layout.
    ///
    /// # Errors
    /// The errors of [`Session::register_set`], and [`Error::System`] if the kernel refuses the contents.
    pub fn set_register_set(&mut self, tid: Tid, set: RegisterSet, bytes: &[u8]) -> Result<()> {
        self.backend.set_register_set(tid, set, bytes)
    }

    /// The floating-point, vector and mask registers of a held thread, by name.
    ///
    /// # Errors
    /// The errors of [`Session::register_set`].
    pub fn vector_registers(&self, tid: Tid) -> Result<VectorRegisters> {
        self.backend.vector_registers(tid)
    }

    /// Sets the registers that [`Session::vector_registers`] tells.
    ///
    /// # Errors
    /// The errors of [`Session::set_register_set`].
    pub fn set_vector_registers(&mut self, tid: Tid, registers: &VectorRegisters) -> Result<()> {
        self.backend.set_vector_registers(tid, registers)
    }

    /// The return address of the function at whose first instruction a held thread with these registers is. `None`: the stack cannot be read.
    pub fn return_address(&self, pid: Pid, registers: &Registers) -> Option<Address> {
        self.way_back(pid, registers).map(|(address, _)| address)
    }

    /// As [`Session::return_address`], with the stack pointer after the return.
    pub(crate) fn way_back(&self, pid: Pid, registers: &Registers) -> Option<(Address, Address)> {
        let width = registers.arch().width();
        let read = |address| {
            let mut bytes = [0; 8];
            let read = self.read_memory(pid, Address(address), &mut bytes[..width]).ok()?;
            (read == width).then(|| u64::from_le_bytes(bytes))
        };
        arch::way_back(&registers.raw, read).map(|(address, sp)| (Address(address), Address(sp)))
    }

    /// Reads memory, with the original bytes in place of breakpoint instructions. Returns the number of bytes read, which is less than
    /// asked for at the end of mapped memory.
    ///
    /// # Errors
    /// [`Error::Memory`] if nothing can be read at `address`.
    pub fn read_memory(&self, pid: Pid, address: Address, buffer: &mut [u8]) -> Result<usize> {
        self.backend.read_memory(pid, address, buffer)
    }

    /// Writes memory. Breakpoints in the range stay; jumps up to 64 bytes before it become breakpoint instructions.
    ///
    /// # Errors
    /// [`Error::Memory`] if not all bytes can be written; [`Error::Uninterruptible`] if a jump is in the way and a thread cannot be stopped within
    /// a second. No byte is changed then.
    pub fn write_memory(&mut self, pid: Pid, address: Address, bytes: &[u8]) -> Result<()> {
        self.backend.write_memory(pid, address, bytes)
    }

    /// Runs a function in a held thread by the C calling convention, and restores the thread's state. Returns the function's result.
    /// Breakpoints in the function are passed without events; over the kernel module those that only count do count.
    ///
    /// The function gets integers and pointers in registers, at most six on x86-64 and eight on arm64, and returns one integer. The call ends when
    /// the function returns; nothing limits its time. The other threads run or stay held meanwhile as they did: a function that waits for one of
    /// them, for a lock that this or another held thread has, or for an event of the session, never returns. A call in the middle of an
    /// allocation may find the allocator's lock taken.
    ///
    /// Over the kernel module the thread is traced by ptrace meanwhile. If a signal arrives for it, the thread is held at the beginning of the
    /// handler afterwards.
    ///
    /// # Errors
    /// [`Error::NotHeld`]; [`Error::Call`] if the function faults; over the kernel module
    /// [`Error::AlreadyTraced`] if another process traces the thread by ptrace.
    pub fn call(&mut self, tid: Tid, function: Address, args: &[u64]) -> Result<u64> {
        self.backend.call(tid, function, args)
    }
}

/// The back end over the kernel module.
#[cfg(feature = "module")]
fn kernel(options: Options) -> Result<Box<dyn Backend>> {
    Ok(Box::new(crate::kernel::Kernel::new(options)?))
}

#[cfg(not(feature = "module"))]
fn kernel(_: Options) -> Result<Box<dyn Backend>> {
    Err(Error::Unsupported { mechanism: Mechanism::Kernel, what: "be used: ubp is built without its feature `module`" })
}

/// The file descriptor is readable when [`Session::poll`] may have an event. After each call of `poll` that returned `None` the next
/// report makes it readable.
///
/// Over ptrace the first use starts a thread that waits for reports. No signal is delivered to that thread.
impl AsFd for Session {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.backend.as_fd()
    }
}

/// The descriptor of [`Session::as_fd`].
impl AsRawFd for Session {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}
