//! The channel and other processes: who may be attached, and their memory.

use std::fs::{File, read_to_string};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command as Program, Stdio};
use std::time::{Duration, Instant};

use crossing::channel::{Channel, DEVICE, ask, attach, open, reply, stream};
use crossing::{in_turn, words};
use wire::commands::{Command, Reply};
use wire::{Failure, Status};

/// How long something may take that takes no time.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ends with this.
struct Process(Child);

impl Process {
    /// A program that waits for input, and is what it will stay.
    fn start(mut program: Program) -> Process {
        let mut child = in_turn(|| program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()).expect("it starts");
        child.stdin.as_mut().expect("a pipe").write_all(b"x\n").expect("it reads");
        let mut answer = [0; 2];
        std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut answer).expect("it answers");
        Process(child)
    }

    fn cat() -> Process {
        Process::start(Program::new("cat"))
    }

    fn id(&self) -> u32 {
        self.0.id()
    }

    fn input(&mut self) -> &mut ChildStdin {
        self.0.stdin.as_mut().expect("a pipe")
    }

    fn memory(&self) -> File {
        File::open(format!("/proc/{}/mem", self.id())).expect("root may")
    }

    /// First address, first behind it, and the permissions of its mappings.
    fn maps(&self) -> Vec<(u64, u64, String)> {
        let text = read_to_string(format!("/proc/{}/maps", self.id())).expect("it lives");
        let line = |line: &str| {
            let mut words = line.split_whitespace();
            let (start, end) = words.next()?.split_once('-')?;
            let hex = |digits| u64::from_str_radix(digits, 16).ok();
            Some((hex(start)?, hex(end)?, words.next()?.to_owned()))
        };
        text.lines().filter(|line| !line.contains("[vsyscall]")).map(|text| line(text).expect("a mapping")).collect()
    }

    /// The first page of code.
    fn code(&self) -> u64 {
        self.maps().into_iter().find(|(.., permissions)| permissions.starts_with("r-x")).expect("code").0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn read(file: &mut File, debuggee: u64, address: u64, length: u64) -> Result<Vec<u8>, Failure> {
    ask(file, Command::ReadMemory { debuggee, address, length }, |told| match told? {
        Reply::ReadMemory { bytes } => Ok(bytes.to_vec()),
        other => panic!("{other:?}"),
    })
}

fn write(file: &mut File, debuggee: u64, address: u64, bytes: &[u8]) -> Result<(), Failure> {
    ask(file, Command::WriteMemory { debuggee, address, bytes }, |told| told.map(drop))
}

/// What the kernel has said.
fn kernel_log() -> String {
    /// Reads all that is there.
    const READ_ALL: libc::c_int = 3;
    let mut bytes = vec![0u8; 1 << 20];
    // SAFETY: the kernel writes at most `bytes.len()` bytes, which `bytes` has.
    let length = unsafe { libc::klogctl(READ_ALL, bytes.as_mut_ptr().cast(), bytes.len() as libc::c_int) };
    assert!(length > 0, "a kernel's log");
    bytes.truncate(length as usize);
    String::from_utf8_lossy(&bytes).into_owned()
}

crossing::channel_tests! {
    memory_is_read_as_the_process_has_it {
        let process = Process::cat();
        let mut file = open();
        let debuggee = attach(&mut file, process.id()).unwrap();
        let memory = process.memory();
        for (start, end, permissions) in process.maps() {
            let mut expected = vec![0; (end - start).min(20_000) as usize];
            if memory.read_exact_at(&mut expected, start).is_err() {
                continue;
            }
            let found = read(&mut file, debuggee, start, expected.len() as u64);
            assert!(found.as_ref() == Ok(&expected), "{start:#x} {permissions}");
        }
    }

    mappings_are_those_of_the_process {
        let process = Process::cat();
        let mut file = open();
        let debuggee = attach(&mut file, process.id()).unwrap();
        let found = ask(&mut file, Command::Mappings { debuggee }, |told| match told {
            Ok(Reply::Mappings { mappings }) => mappings.to_vec(),
            other => panic!("{other:?}"),
        });
        let found: Vec<(u64, u64, String)> = words(&found)
            .chunks_exact(4)
            .map(|mapping| {
                let (start, end, protection) = (mapping[0], mapping[1], mapping[2]);
                let letters = ["r", "w", "x"].iter().enumerate();
                let letters = letters.map(|(bit, letter)| if protection >> bit & 1 == 1 { letter } else { "-" });
                (start, end, letters.collect::<String>())
            })
            .collect();
        let expected: Vec<_> = process.maps().into_iter().map(|(start, end, all)| (start, end, all[..3].to_owned())).collect();
        assert_eq!(found, expected);
    }

    code_is_written_for_this_process_alone {
        let (process, other) = (Process::cat(), Process::cat());
        let mut file = open();
        let debuggee = attach(&mut file, process.id()).unwrap();
        let code = process.code();
        let before = read(&mut file, debuggee, code + 4090, 12).unwrap();
        assert_eq!(write(&mut file, debuggee, code + 4090, b"over an edge"), Ok(()));
        assert_eq!(read(&mut file, debuggee, code + 4090, 12).unwrap(), b"over an edge");
        let mut others = [0; 12];
        other.memory().read_exact_at(&mut others, other.code() + 4090).unwrap();
        assert_eq!(others, before[..], "the file and other processes have what they had");
    }

    where_memory_ends_the_rest_is_not_read_and_nothing_is_written {
        let process = Process::cat();
        let mut file = open();
        let debuggee = attach(&mut file, process.id()).unwrap();
        let maps = process.maps();
        let next = |end| maps.iter().all(|(start, ..)| *start != end);
        let end = maps.iter().find(|(_, end, access)| access.starts_with("rw") && next(*end)).expect("a gap").1;
        let before = read(&mut file, debuggee, end - 8, 8).unwrap();
        assert_eq!(read(&mut file, debuggee, end - 8, 16), Ok(before.clone()));
        assert_eq!(read(&mut file, debuggee, end, 16), Err(Failure::new(Status::Memory, end)));
        assert_eq!(write(&mut file, debuggee, end - 8, &[1; 16]), Err(Failure::new(Status::Memory, end)));
        assert_eq!(read(&mut file, debuggee, end - 8, 8), Ok(before));
        assert_eq!(read(&mut file, debuggee, end - 8, 0), Ok(Vec::new()));
        let length = u64::MAX;
        let refused = read(&mut file, debuggee, 0, length).unwrap_err();
        assert_eq!(refused.status, Status::Limit);
    }

    below_a_stack_is_nothing_and_the_kernel_does_not_warn_of_it {
        let process = Process::cat();
        let mut file = open();
        let debuggee = attach(&mut file, process.id()).unwrap();
        let maps = read_to_string(format!("/proc/{}/maps", process.id())).unwrap();
        let stack = maps.lines().find(|line| line.ends_with("[stack]")).expect("a stack");
        let below = u64::from_str_radix(stack.split_once('-').unwrap().0, 16).unwrap() - 4096;
        assert_eq!(read(&mut file, debuggee, below, 1), Err(Failure::new(Status::Memory, below)));
        assert_eq!(write(&mut file, debuggee, below, &[1]), Err(Failure::new(Status::Memory, below)));
        assert!(!kernel_log().contains("no longer grows the stack"));
    }

    a_process_keeps_its_number_when_it_executes_and_loses_it_when_it_ends {
        let mut shell = Program::new("sh");
        shell.arg("-c").arg("read line; echo x; read line; exec cat");
        let mut process = Process::start(shell);
        let mut file = open();
        let debuggee = attach(&mut file, process.id()).unwrap();
        let before = process.code();
        assert!(read(&mut file, debuggee, before, 1).is_ok());
        process.input().write_all(b"go\nx\n").unwrap();
        let mut answer = [0; 2];
        std::io::Read::read_exact(process.0.stdout.as_mut().unwrap(), &mut answer).unwrap();
        let code = process.code();
        assert_ne!(code, before);
        assert!(read(&mut file, debuggee, code, 1).is_ok());
        let second = attach(&mut file, process.id()).unwrap();
        assert_ne!(second, debuggee);
        assert!(read(&mut file, second, code, 1).is_ok());
        let id = process.id();
        drop(process);
        for number in [debuggee, second] {
            assert_eq!(read(&mut file, number, code, 1), Err(Failure::new(Status::NoProcess, number)));
        }
        assert_eq!(attach(&mut file, id), Err(Failure::new(Status::NoProcess, id.into())));
    }

    after_a_detach_its_number_means_nothing_and_is_not_used_again {
        let process = Process::cat();
        let mut file = open();
        let first = attach(&mut file, process.id()).unwrap();
        let second = attach(&mut file, process.id()).unwrap();
        assert_eq!(ask(&mut file, Command::Detach { debuggee: first }, |told| told.map(drop)), Ok(()));
        let gone = Err(Failure::new(Status::NoProcess, first));
        assert_eq!(ask(&mut file, Command::Detach { debuggee: first }, |told| told.map(drop)), gone);
        assert_eq!(read(&mut file, first, process.code(), 1), Err(Failure::new(Status::NoProcess, first)));
        assert!(read(&mut file, second, process.code(), 1).is_ok());
        assert!(attach(&mut file, process.id()).unwrap() > second);
    }

    a_session_has_so_many_debuggees_and_one_more_when_one_is_detached {
        const MOST: u64 = 4096;
        const OF_ONE: u64 = 64;
        let mut file = open();
        let mut processes = Vec::new();
        for number in 1..=MOST {
            if number % OF_ONE == 1 {
                processes.push(Process::cat());
            }
            let process = processes.last().unwrap();
            assert_eq!(attach(&mut file, process.id()), Ok(number));
        }
        let process = Process::cat();
        assert_eq!(attach(&mut file, process.id()), Err(Failure::new(Status::Limit, MOST)));
        assert_eq!(ask(&mut file, Command::Detach { debuggee: 7 }, |told| told.map(drop)), Ok(()));
        assert_eq!(attach(&mut file, process.id()), Ok(MOST + 1));
        assert_eq!(attach(&mut file, process.id()), Err(Failure::new(Status::Limit, MOST)));
    }

    a_process_is_attached_so_often_by_all_sessions_and_once_more_when_one_lets_it_go {
        const MOST: u64 = 64;
        let process = Process::cat();
        let mut files = [open(), open()];
        for number in 0..MOST {
            assert_eq!(attach(&mut files[number as usize % 2], process.id()), Ok(number / 2 + 1));
        }
        for file in &mut files {
            assert_eq!(attach(file, process.id()), Err(Failure::new(Status::Limit, MOST)));
        }
        let [first, mut second] = files;
        drop(first);
        for _ in 0..MOST / 2 {
            attach(&mut second, process.id()).unwrap();
        }
        assert_eq!(attach(&mut second, process.id()), Err(Failure::new(Status::Limit, MOST)));
    }

    a_channel_may_what_its_opener_may_whoever_writes_to_it {
        let own = |uid: u32| {
            let mut program = Program::new("cat");
            program.uid(uid).gid(uid);
            Process::start(program)
        };
        let (of_root, of_another, of_the_same) = (own(0), own(65533), own(65534));
        // A shell opens the device as an ordinary user, and hands its file over as its standard output's.
        let (mut file, keeper) = opened_by(65534);
        for process in [&of_root, &of_another] {
            let denied = Err(Failure::new(Status::Denied, process.id().into()));
            assert_eq!(attach(&mut file, process.id()), denied);
        }
        assert!(attach(&mut file, of_the_same.id()).is_ok());
        drop(keeper);
        let mut file = open();
        for process in [&of_root, &of_another, &of_the_same] {
            assert!(attach(&mut file, process.id()).is_ok());
        }
    }

    no_process_traces_itself {
        let own = std::process::id();
        let mut file = open();
        assert_eq!(attach(&mut file, own), Err(Failure::new(Status::Denied, own.into())));
        assert!(attach(&mut file, Process::cat().id()).is_ok());
    }

    numbers_of_no_process_and_of_kernel_threads_are_told {
        let mut file = open();
        for number in [0, 0x3fff_ffff, u32::MAX] {
            assert_eq!(attach(&mut file, number), Err(Failure::new(Status::NoProcess, number.into())));
        }
        // kthreadd has no memory.
        assert!(attach(&mut file, 2).is_err());
    }

    many_sessions_with_many_processes_leave_nothing_behind {
        // The kernel's count of open files is as exact as its processors have told each other.
        let files = || -> u64 {
            let text = read_to_string("/proc/sys/fs/file-nr").unwrap();
            text.split_whitespace().next().unwrap().parse().unwrap()
        };
        let process = Process::cat();
        let before = files();
        let commands = [(Command::Attach { process: process.id().into(), options: 0 }, 0); 20];
        let bytes = stream(&commands);
        for _ in 0..200 {
            let mut file = open();
            file.write_all(&bytes).unwrap();
        }
        let mut file = open();
        file.write_all(&bytes).unwrap();
        let mut kept = Vec::new();
        for _ in commands {
            assert!(reply(&mut file, &mut kept, |_, told| told.is_ok()));
        }
        // The other tests have files too, for as long as each runs.
        let start = Instant::now();
        loop {
            let after = files();
            if after < before + 1000 {
                break;
            }
            let told = format!("{before} open files before, {after} after 4,000 processes were attached");
            assert!(start.elapsed() < PATIENCE, "{told}");
            std::thread::yield_now();
        }
    }
}

/// A channel that a user opened: the file, and the process that did.
fn opened_by(uid: u32) -> (Channel, Process) {
    let mut shell = Program::new("sh");
    shell.arg("-c").arg(format!("exec 7<>{DEVICE}; read line; echo x; exec cat")).uid(uid).gid(uid);
    let process = Process::start(shell);
    // pidfd_getfd: the same open file, not another opening of the device.
    let id = process.id() as libc::pid_t;
    // SAFETY: plain numbers.
    let file: File = unsafe {
        let pidfd = libc::syscall(libc::SYS_pidfd_open, id, 0) as i32;
        assert!(pidfd >= 0, "{}", std::io::Error::last_os_error());
        let found = libc::syscall(libc::SYS_pidfd_getfd, pidfd, 7, 0) as i32;
        libc::close(pidfd);
        assert!(found >= 0, "{}", std::io::Error::last_os_error());
        std::os::fd::FromRawFd::from_raw_fd(found)
    };
    (file.into(), process)
}
