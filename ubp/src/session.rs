use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::Command;

use crate::backend::Backend;
use crate::kernel::Kernel;
use crate::ptrace::Tracer;
use crate::{
    Address, Breakpoint, BreakpointId, Event, InsertError, Mechanism, Options, Pid, Process, Registers, Result, Signal,
    Spec, Stdio, Tid,
};

/// A tracer and its debuggees.
///
/// It belongs to the thread that made it, as the kernel's ptrace does. Dropped, it detaches from every process: original bytes
/// back, every thread where it would be without breakpoints. For threads that cannot be stopped it waits then (see [`Session::leave`]).
#[derive(Debug)]
pub struct Session {
    backend: Box<dyn Backend>,
    /// Only the thread that attached may use ptrace.
    not_send: PhantomData<*const ()>,
}

impl Session {
    /// A session without debuggees, with the default [`Options`].
    ///
    /// # Errors
    /// The thread has a session already, or the process has no file descriptor left.
    pub fn new() -> Result<Session> {
        Session::with_options(Options::default())
    }

    /// A session without debuggees, over ptrace(2).
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn with_options(options: Options) -> Result<Session> {
        Session::open(Mechanism::Ptrace, options)
    }

    /// A session without debuggees, over a mechanism of choice.
    ///
    /// # Errors
    /// As [`Session::new`] with ptrace. With the kernel module [`Error::File`](crate::Error::File) where it is not loaded, and
    /// [`Error::Unsupported`](crate::Error::Unsupported) where it cannot do what the options ask for.
    pub fn open(mechanism: Mechanism, options: Options) -> Result<Session> {
        let backend: Box<dyn Backend> = match mechanism {
            Mechanism::Ptrace => Box::new(Tracer::new(options)?),
            Mechanism::Kernel => Box::new(Kernel::new(options)?),
            Mechanism::Auto => match Kernel::new(options) {
                Ok(kernel) => Box::new(kernel),
                Err(_) => Box::new(Tracer::new(options)?),
            },
        };
        Ok(Session { backend, not_send: PhantomData })
    }

    /// What it works by: never [`Mechanism::Auto`].
    pub fn mechanism(&self) -> Mechanism {
        self.backend.mechanism()
    }

    /// Starts a program. It is held at its first instruction: insert breakpoints, then resume [`Pid::leader`].
    /// Before code of a library runs, [`EventKind::Loaded`](crate::EventKind::Loaded) comes.
    ///
    /// # Errors
    /// [`Error::Spawn`](crate::Error::Spawn) where the program cannot be executed.
    pub fn spawn(&mut self, command: Command) -> Result<Pid> {
        self.backend.spawn(command)
    }

    /// The pipes of a program started by [`Session::spawn`], once.
    pub fn take_stdio(&mut self, pid: Pid) -> Stdio {
        self.backend.take_stdio(pid)
    }

    /// Takes hold of all threads of a running process, and of all processes that share its memory, without stopping them.
    ///
    /// # Errors
    /// No such process, no permission, or traced by another already; a process shares its memory and cannot be traced
    /// ([`Error::SharedMemory`](crate::Error::SharedMemory)); no thread can be stopped within a second
    /// ([`Error::Uninterruptible`](crate::Error::Uninterruptible)). The process runs on as it was.
    pub fn attach(&mut self, pid: Pid) -> Result<Pid> {
        self.backend.attach(pid)
    }

    /// Lets a process go: original bytes back, threads out of the slots, storage unmapped, held threads run. Processes that share its
    /// memory are let go with it; where the user knows one of them, this one is traced in silence until that is let go as well.
    ///
    /// A thread that waits in the kernel for something that no signal ends, mostly in `vfork` for its child, cannot be stopped. It is
    /// waited for no longer than a second. Then it is let go when that wait ends: by the next call that asks for events, or when the
    /// session or the calling thread ends.
    ///
    /// # Errors
    /// [`Error::NoSuchProcess`](crate::Error::NoSuchProcess) where the process is not of this session.
    pub fn detach(&mut self, pid: Pid) -> Result<()> {
        self.backend.detach(pid)
    }

    /// Ends the session of a thread that ends now. Processes are let go as [`Session::detach`] does it, but threads that wait in `vfork`
    /// are left to the kernel, which lets them go when the calling thread ends; where the session is dropped instead, it waits for them.
    pub fn leave(mut self) {
        self.backend.leave();
    }

    /// Waits for the next event. `None`: no debuggee is left. It waits for ever where all threads are held.
    ///
    /// # Errors
    /// A system call failed in a way that the end of the debuggee does not explain.
    pub fn wait(&mut self) -> Result<Option<Event>> {
        self.backend.next_event(true)
    }

    /// The next event, if there is one now. Breakpoints that only count are served by this, too: call it whenever the session's
    /// file descriptor is readable.
    ///
    /// # Errors
    /// As [`Session::wait`].
    pub fn poll(&mut self) -> Result<Option<Event>> {
        self.backend.next_event(false)
    }

    /// Lets the thread of an event go on: over the breakpoint, with the signal delivered.
    ///
    /// # Errors
    /// [`Error::NoSuchThread`](crate::Error::NoSuchThread), [`Error::NotHeld`](crate::Error::NotHeld).
    pub fn resume(&mut self, tid: Tid) -> Result<()> {
        self.backend.resume(tid)
    }

    /// Lets the thread of an event go on, with `signal` delivered in place of the one that was reported.
    ///
    /// # Errors
    /// As [`Session::resume`].
    pub fn resume_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        self.backend.resume_with(tid, signal)
    }

    /// Stops every running thread of a process; each comes with
    /// [`EventKind::Interrupted`](crate::EventKind::Interrupted), or with another event that it had on its way.
    /// System calls that block go on afterwards as if nothing had been.
    ///
    /// # Errors
    /// No such process.
    pub fn interrupt(&mut self, pid: Pid) -> Result<()> {
        self.backend.interrupt(pid)
    }

    /// A process of this session.
    pub fn process(&self, pid: Pid) -> Option<&Process> {
        self.backend.process(pid)
    }

    /// The processes of this session.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        self.backend.processes()
    }

    /// Inserts breakpoints; the process may run. Answers stand in the order of `specs`. Several at one address share the site.
    ///
    /// # Errors
    /// The process is gone; what concerns one breakpoint stands in its answer.
    pub fn insert(&mut self, pid: Pid, specs: &[Spec]) -> Result<Vec<Result<BreakpointId, InsertError>>> {
        self.backend.insert(pid, specs)
    }

    /// Removes breakpoints; the process may run. Unknown ids are passed over.
    ///
    /// # Errors
    /// The process is gone.
    pub fn remove(&mut self, pid: Pid, ids: &[BreakpointId]) -> Result<()> {
        self.backend.remove(pid, ids)
    }

    /// A breakpoint of a process, as it is now. Those of a program that another took the place of are inactive; those of a process that ended
    /// can be had until the next [`Session::wait`] or [`Session::poll`] after the event that told of the end.
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
    pub fn registers(&mut self, tid: Tid) -> Result<Registers> {
        self.backend.registers(tid)
    }

    /// Sets the registers of a held thread.
    ///
    /// # Errors
    /// The thread is not held, or gone.
    pub fn set_registers(&mut self, tid: Tid, registers: &Registers) -> Result<()> {
        self.backend.set_registers(tid, registers)
    }

    /// Reads memory as the program would without breakpoints. Returns the bytes read, less than asked for at the end of what is
    /// mapped.
    ///
    /// # Errors
    /// Nothing can be read at `address`.
    pub fn read_memory(&mut self, pid: Pid, address: Address, buffer: &mut [u8]) -> Result<usize> {
        self.backend.read_memory(pid, address, buffer)
    }

    /// Writes memory; breakpoints there stay.
    ///
    /// # Errors
    /// Not all bytes could be written.
    pub fn write_memory(&mut self, pid: Pid, address: Address, bytes: &[u8]) -> Result<()> {
        self.backend.write_memory(pid, address, bytes)
    }

    /// Runs a function in a held thread, by the C calling convention, and puts everything back. Breakpoints it runs into are
    /// passed silently; over the kernel module those count that do nothing else. There the thread is traced by ptrace meanwhile, and where a signal
    /// came for it, it is held at the beginning of the handler afterwards.
    ///
    /// # Errors
    /// The thread is not held; [`Error::Call`](crate::Error::Call) where the function faults; over the kernel module
    /// [`Error::AlreadyTraced`](crate::Error::AlreadyTraced) where another process traces the thread by ptrace.
    pub fn call(&mut self, tid: Tid, function: Address, args: &[u64]) -> Result<u64> {
        self.backend.call(tid, function, args)
    }
}

/// Readable when [`Session::poll`] may have something.
///
/// The first use installs a handler for `SIGCHLD` that calls on to the one before it.
impl AsFd for Session {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.backend.as_fd()
    }
}
