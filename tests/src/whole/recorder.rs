use std::collections::HashMap;
use std::ffi::CString;
use std::path::{Path, PathBuf};

use super::command::ENVIRONMENT;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, execve, fork};

/// How often each instruction of a program's files was executed.
#[derive(Debug, Default)]
pub struct Recording {
    /// By file, and by address in that file as its ELF headers number it from the load base on.
    pub counts: HashMap<(PathBuf, u64), u64>,
}

impl Recording {
    /// All executions.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// Single-steps `program` from its first instruction to its end, with addresses not randomised.
///
/// A `rep` string instruction, which traps after each element, counts once as long as the program counter stands still.
///
/// # Panics
/// Where the program cannot be run or traced.
pub fn record(program: &str, arguments: &[&str]) -> Recording {
    let path = CString::new(program).expect("no NUL in a path");
    let mut argv = vec![path.clone()];
    argv.extend(arguments.iter().map(|argument| CString::new(*argument).expect("no NUL in an argument")));
    let environment =
        ENVIRONMENT.map(|(name, value)| CString::new(format!("{name}={value}")).expect("no NUL in the environment"));
    // SAFETY: the child calls only async-signal-safe functions before exec.
    let child = match unsafe { fork() }.expect("fork") {
        ForkResult::Child => {
            // SAFETY: no pointers; open and dup2 of constant paths and numbers.
            unsafe {
                libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
                let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
                for fd in 0..3 {
                    libc::dup2(null, fd);
                }
            }
            let _ = ptrace::traceme();
            let _ = execve(&path, &argv, &environment);
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(127) }
        }
        ForkResult::Parent { child } => child,
    };
    step_to_the_end(child)
}

fn step_to_the_end(child: Pid) -> Recording {
    let mut status = waitpid(child, None).expect("wait for exec");
    assert!(matches!(status, WaitStatus::Stopped(_, Signal::SIGTRAP)), "not stopped at exec: {status:?}");
    let mut by_address: HashMap<u64, u64> = HashMap::new();
    let mut images = Images::default();
    let mut last = 0;
    loop {
        let signal = match status {
            WaitStatus::Stopped(_, Signal::SIGTRAP) => None,
            WaitStatus::Stopped(_, signal) => Some(signal),
            _ => break,
        };
        let pc = ptrace::getregs(child).expect("registers").rip;
        if pc != last {
            let count = by_address.entry(pc).or_insert(0);
            if *count == 0 {
                images.learn(child, pc);
            }
            *count += 1;
            last = pc;
        }
        ptrace::step(child, signal).expect("step");
        status = waitpid(child, None).expect("wait for a step");
    }
    let counts = by_address.into_iter().filter_map(|(pc, count)| Some((images.place(pc)?, count))).collect();
    Recording { counts }
}

/// Mapped files: base address, end and path.
#[derive(Default)]
struct Images(Vec<(u64, u64, PathBuf)>);

impl Images {
    /// Reads the map again where `pc` lies in no image known so far.
    fn learn(&mut self, child: Pid, pc: u64) {
        if self.place(pc).is_some() {
            return;
        }
        let maps = std::fs::read_to_string(format!("/proc/{child}/maps")).unwrap_or_default();
        self.0.clear();
        for line in maps.lines() {
            let Some((range, path)) = line.split_once(' ').and_then(|(range, rest)| {
                let start = rest.find(['/', '['])?;
                Some((range, Path::new(&rest[start..])))
            }) else {
                continue;
            };
            let (start, end) = range.split_once('-').expect("a range");
            let parse = |text| u64::from_str_radix(text, 16).expect("hexadecimal");
            let (start, end) = (parse(start), parse(end));
            match self.0.last_mut() {
                Some((_, last_end, last)) if last == path => *last_end = end,
                _ => self.0.push((start, end, path.to_owned())),
            }
        }
    }

    fn place(&self, pc: u64) -> Option<(PathBuf, u64)> {
        let (base, _, path) = self.0.iter().find(|(start, end, _)| (*start..*end).contains(&pc))?;
        Some((path.clone(), pc - base))
    }
}
