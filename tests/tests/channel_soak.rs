//! The channel for long: what it keeps after many sessions, and what debuggees have after their debugger was killed, wherever it was.
//! A short form always, all of it where `NTRACE_SOAK` is `all`.

use std::fs::{File, read_dir, read_to_string};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command as Program, Stdio};
use std::time::{Duration, Instant};

use crossing::channel::{ask, attach, open, reply, stream};
use crossing::{Random, in_turn, kernel_memory, words};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use wire::commands::{Command, Reply};
use wire::{Split, split};

/// The program that is traced, and that traces.
const CHANNEL: &str = env!("CARGO_BIN_EXE_channel");
/// How long something may take that takes no time.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often, in the short and in the long form.
fn times(short: u64, long: u64) -> u64 {
    if std::env::var_os("NTRACE_SOAK").is_some_and(|value| value == "all") { long } else { short }
}

/// A process that counts. It ends with this.
struct Debuggee {
    child: Child,
    memory: File,
    counts: u64,
    threads: u64,
    scratch: u64,
    length: usize,
    /// Its code, and where that is.
    code: Vec<(u64, Vec<u8>)>,
}

impl Debuggee {
    fn start() -> Debuggee {
        let mut program = Program::new(CHANNEL);
        let mut child = in_turn(|| program.arg("debuggee").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn())
            .expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
        let words: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [counts, threads, scratch, length] = words[..] else { panic!("{line:?}") };
        let memory = File::open(format!("/proc/{}/mem", child.id())).expect("root may");
        let length = length as usize;
        let mut debuggee = Debuggee { child, memory, counts, threads, scratch, length, code: Vec::new() };
        debuggee.code = debuggee.code_now();
        assert!(!debuggee.code.is_empty());
        debuggee
    }

    fn id(&self) -> u32 {
        self.child.id()
    }

    fn read(&self, address: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.memory.read_exact_at(&mut bytes, address).expect("it can be read");
        bytes
    }

    fn code_now(&self) -> Vec<(u64, Vec<u8>)> {
        let maps = read_to_string(format!("/proc/{}/maps", self.id())).expect("it lives");
        let code = maps.lines().filter(|line| line.contains("r-xp") && line.contains("/channel"));
        code.map(|line| {
            let (start, end) = line.split_whitespace().next().and_then(|range| range.split_once('-')).expect("a range");
            let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).expect("a number"));
            (start, self.read(start, (end - start) as usize))
        })
        .collect()
    }

    fn counts(&self) -> Vec<u64> {
        words(&self.read(self.counts, self.threads as usize * 8))
    }

    /// All threads are there and run on, nobody traces them, code is what it was, and scratch is as one of the writes left it.
    fn check(&self, moment: &str) {
        let folder = format!("/proc/{}", self.id());
        let threads = read_dir(format!("{folder}/task")).expect("it lives").count() as u64;
        assert_eq!(threads, self.threads + 1, "{moment}");
        let status = read_to_string(format!("{folder}/status")).expect("it lives");
        assert!(status.contains("TracerPid:\t0\n"), "{moment}: {status}");
        let before = self.counts();
        let start = Instant::now();
        while before.iter().zip(self.counts()).any(|(before, now)| now <= *before) {
            assert!(start.elapsed() < PATIENCE, "{moment}: {before:?} and then {:?}", self.counts());
            std::thread::yield_now();
        }
        assert!(self.code_now() == self.code, "{moment}: code has changed");
        let scratch = self.read(self.scratch, self.length);
        let other = scratch.iter().position(|byte| *byte != scratch[0]);
        assert_eq!(other, None, "{moment}: a write was done by halves");
    }

    /// A process that traces it as fast as it can.
    fn traced(&self, seed: u64) -> Child {
        let mut program = Program::new(CHANNEL);
        program.arg("debugger").args([self.id().to_string(), self.scratch.to_string()]);
        program.args([self.length.to_string(), seed.to_string()]);
        at_work(program)
    }
}

/// Starts a program that tells when it is at work.
fn at_work(mut program: Program) -> Child {
    let mut child = in_turn(|| program.stdout(Stdio::piped()).spawn()).expect("it starts");
    let mut line = [0; 8];
    child.stdout.as_mut().expect("a pipe").read_exact(&mut line).expect("it begins");
    assert_eq!(&line, b"at work\n");
    child
}

impl Drop for Debuggee {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a moment that chance chooses, and ends a process there.
fn kill(random: &mut Random, mut child: Child) {
    let moment = Instant::now() + Duration::from_micros(random.below(20_000));
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
    child.kill().expect("it lives");
    let status = child.wait().expect("a child");
    assert!(status.code().is_none(), "it ended by itself: {status}");
}

/// What a round does.
fn round(debuggee: &Debuggee) {
    let mut file = open();
    let first = attach(&mut file, debuggee.id()).expect("root may");
    let bytes = vec![7; debuggee.length];
    let commands = [
        (Command::Attach { process: debuggee.id().into(), options: 0 }, 0),
        (Command::WriteMemory { debuggee: first, address: debuggee.scratch, bytes: &bytes }, 0),
        (Command::ReadMemory { debuggee: first, address: debuggee.scratch, length: debuggee.length as u64 }, 0),
        (Command::Mappings { debuggee: first }, 0),
        (Command::Detach { debuggee: first }, 0),
    ];
    file.write_all(&stream(&commands)).expect("the file can be written");
    let mut kept = Vec::new();
    for _ in commands {
        reply(&mut file, &mut kept, |tag, told| assert!(told.is_ok(), "{tag}: {told:?}"));
    }
}

crossing::channel_tests! {
    attaching_and_detaching_over_and_over_keeps_no_memory {
        let rounds = times(500, 10_000);
        let debuggee = Debuggee::start();
        // The smallest thing that a round allocates is a kilobyte with what the allocator adds; what others in the machine
        // allocate, and what lies in lists of processors, is less than this.
        let noise = 512 << 10;
        let tolerance = noise.max(rounds as i64 * 64);
        (0..rounds / 5).for_each(|_| round(&debuggee));
        let before = kernel_memory();
        (0..rounds).for_each(|_| round(&debuggee));
        // What is freed behind a grace period is freed a moment later.
        let start = Instant::now();
        loop {
            let after = kernel_memory();
            let growth: Vec<(&str, i64)> = after.iter().map(|(name, now)| (*name, now - before[name])).collect();
            if growth.iter().all(|(_, growth)| *growth <= tolerance) {
                println!("{rounds} rounds: {growth:?} bytes more");
                break;
            }
            assert!(start.elapsed() < PATIENCE, "{rounds} rounds: {growth:?} bytes more");
            std::thread::yield_now();
        }
        debuggee.check("after all rounds");
    }

    a_debugger_killed_at_any_moment_leaves_its_debuggee_as_it_was {
        let debuggee = Debuggee::start();
        let mut random = Random::new(1);
        for number in 0..times(50, 1000) {
            kill(&mut random, debuggee.traced(number));
            debuggee.check(&format!("kill {number}"));
        }
    }

    a_channel_goes_on_wherever_those_that_inherited_it_were_killed {
        let debuggee = Debuggee::start();
        let mut random = Random::new(2);
        let mut file = open();
        let first = attach(&mut file, debuggee.id()).expect("root may");
        let mut answered = 0;
        for number in 0..times(50, 1000) {
            let mut program = Program::new(CHANNEL);
            program.arg("writer").args([first.to_string(), debuggee.scratch.to_string()]);
            inherit(&mut program, &file);
            kill(&mut random, at_work(program));
            answered += replies(&mut file);
            let read = Command::ReadMemory { debuggee: first, address: debuggee.scratch, length: 8 };
            assert!(ask(&mut file, read, |told| told.is_ok()), "kill {number}");
        }
        assert!(answered > 0);
        debuggee.check("after all kills");
    }
}

/// Reads what there is: whole replies. Says how many.
fn replies(file: &mut File) -> usize {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 1 << 20];
    loop {
        let mut polled = [PollFd::new(file.as_fd(), PollFlags::POLLIN)];
        if poll(&mut polled, PollTimeout::ZERO) == Ok(0) {
            break;
        }
        let count = file.read(&mut piece).expect("there is something");
        bytes.extend(&piece[..count]);
    }
    let mut rest = &bytes[..];
    let mut count = 0;
    while let Split::Message(message, behind) = split(rest).expect("the kernel writes messages") {
        assert!(matches!(Reply::parse(&message), Ok(Ok(_))), "{message:?}");
        (rest, count) = (behind, count + 1);
    }
    assert_eq!(rest.len(), 0, "half a reply");
    count
}

/// Has a program the file as its descriptor 3.
fn inherit(program: &mut Program, file: &File) {
    let descriptor = file.as_raw_fd();
    // SAFETY: a system call with plain numbers.
    unsafe {
        program.pre_exec(move || match libc::dup2(descriptor, 3) {
            3 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
}
