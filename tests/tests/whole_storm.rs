//! Eight threads, signals by the thousand a second, forks and execs: with sites everywhere, and with sites that come and go.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Stdio;

use crossing::debuggee::{Program, alone};
use crossing::whole::{LONG_STORMS, all, count_everything, hits_in_all, run, run_traced};
use crossing::{Random, figure};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use ubp::{Address, BreakpointId, EventKind, InsertError, InsertReason, Mapping, Options, Pid, Session, Spec};

#[test]
fn a_storm_of_signals_forks_and_execs_in_eight_threads_runs_as_if_alone() {
    let program = Program::build("storm.c", &[]).expect("gcc builds for this machine");
    let rounds = if all() { LONG_STORMS[0] } else { 3 }.to_string();
    let plain = run(&mut program.command(&[rounds.as_str()]));
    let counts = tempfile::NamedTempFile::new().expect("a temporary file");
    let traced = run_traced(count_everything(counts.path()).arg("--").arg(program.path()).arg(rounds));
    assert_eq!(traced, plain);
    figure("programs", "storm", format_args!("hits={}", hits_in_all(counts.path())));
}

/// Batches of sites that are set at once.
const BATCHES: usize = 6;
/// Sites of a batch.
const BATCH: usize = 300;

#[test]
fn sites_that_come_and_go_all_over_a_storm_change_nothing_and_leave_nothing_behind() {
    let program = Program::build("storm.c", &[]).expect("gcc builds for this machine");
    let rounds = if all() { LONG_STORMS[1] } else { 300 };
    let number = rounds.to_string();
    let arguments = [number.as_str(), "wait"];
    let (plain, plain_end) = alone(&mut program.command(&arguments));

    let mut options = Options::default();
    options.signals = false;
    options.threads = false;
    let mut session = Session::with_options(options).expect("a session");
    let mut command = program.command(&arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let pid = session.spawn(command).expect("the program runs");
    let stdio = session.take_stdio(pid);
    let mut output = BufReader::new(stdio.stdout.expect("a pipe"));
    let mut text = String::new();

    // Up to main, where the libraries are there.
    let main = program.address_in(&session, pid, "main");
    session.insert(pid, &[Spec::event(main)]).expect("the process lives");
    session.resume(pid.leader()).expect("it is held");
    let stopped = loop {
        let event = session.wait().expect("an event").expect("a process");
        if matches!(event.kind, EventKind::Hit(_)) {
            break event.tid;
        }
        session.resume(event.tid).expect("it is held");
    };
    let at_main: Vec<BreakpointId> = session.breakpoints(pid).map(|breakpoint| breakpoint.id()).collect();
    session.remove(pid, &at_main).expect("the process lives");
    let before = code(&session, pid);
    let work = program.address_in(&session, pid, "work");
    let counted = session.insert(pid, &[Spec::count(work)]).expect("the process lives")[0].expect("a site");
    let own = places(&session, pid, &program);
    let library = places(&session, pid, &Program::read(&c_library(&session, pid)));
    assert!(own.len() > BATCH && library.len() > 100_000, "{}, {}", own.len(), library.len());
    session.resume(stopped).expect("it is held");

    let mut random = Random::new(1);
    let mut batches: Vec<Vec<BreakpointId>> = Vec::new();
    let (mut inserted, mut hits) = (0u64, 0u64);
    while !text.ends_with("done\n") {
        if batches.len() == BATCHES {
            let batch = batches.remove(random.below(BATCHES as u64) as usize);
            hits += batch.iter().filter_map(|id| session.breakpoint(pid, *id)).map(|b| b.hits()).sum::<u64>();
            session.remove(pid, &batch).expect("the process lives");
        }
        // Neighbours in the program itself, and sites far apart in the library.
        let start = random.below((own.len() - BATCH / 2) as u64) as usize;
        let scattered = (0..BATCH / 2).map(|_| random.one_of(&library));
        let chosen = own[start..start + BATCH / 2].iter().copied().chain(scattered);
        let specs: Vec<Spec> = chosen.map(|at| Spec::count(Address(at))).collect();
        let answers = session.insert(pid, &specs).expect("the process lives");
        inserted += answers.len() as u64;
        batches.push(answers.into_iter().filter_map(set).collect());
        serve(&mut session, &mut output, &mut text);
    }
    assert_eq!(session.breakpoint(pid, counted).expect("it stands").hits(), 8 * rounds);
    let all: Vec<BreakpointId> = session.breakpoints(pid).map(|breakpoint| breakpoint.id()).collect();
    session.remove(pid, &all).expect("the process lives");
    for (mapping, bytes) in before {
        assert!(raw(pid, &mapping) == bytes, "{mapping:?} is not as it was");
    }
    session.detach(pid).expect("the process lives");
    drop(stdio.stdin);
    output.read_to_string(&mut text).expect("text");
    while session.wait().expect("an event").is_some() {}
    assert_eq!((text, EventKind::Exited(0)), (plain, plain_end));
    assert!(hits > 1000, "only {hits} hits");
    figure("programs", "storm, sites come and go", format_args!("hits={hits} inserted={inserted}"));
}

/// A breakpoint that was set; none on what no processor lets be interrupted, arm64's exclusive sequences.
fn set(answer: Result<BreakpointId, InsertError>) -> Option<BreakpointId> {
    match answer {
        Err(error) if matches!(error.reason, InsertReason::Refused(_)) && error.to_string().contains("exclusive") => {
            None
        }
        answer => Some(answer.unwrap_or_else(|error| panic!("{error}"))),
    }
}

/// The executable mappings of files, and what is in them.
fn code(session: &Session, pid: Pid) -> Vec<(Mapping, Vec<u8>)> {
    let maps = session.process(pid).expect("it lives").maps().expect("it lives");
    let code = maps.into_iter().filter(|map| map.execute && map.inode != 0);
    code.map(|map| (map.clone(), raw(pid, &map))).collect()
}

/// Memory as it is, breakpoints included.
fn raw(pid: Pid, mapping: &Mapping) -> Vec<u8> {
    let memory = File::open(format!("/proc/{pid}/mem")).expect("it lives");
    let mut bytes = vec![0; (mapping.end.0 - mapping.start.0) as usize];
    memory.read_exact_at(&mut bytes, mapping.start.0).expect("mapped memory");
    bytes
}

/// Every instruction of the functions of a file that are known by name.
fn places(session: &Session, pid: Pid, file: &Program) -> Vec<u64> {
    let base = file.base(session, pid).expect("it is mapped");
    let mut places: Vec<u64> = file.functions().flat_map(|name| file.instructions(name)).map(|at| base + at).collect();
    places.sort_unstable();
    places.dedup();
    places
}

fn c_library(session: &Session, pid: Pid) -> PathBuf {
    let maps = session.process(pid).expect("it lives").maps().expect("it lives");
    maps.into_iter().filter_map(|map| map.path).find(|path| path.ends_with("libc.so.6")).expect("a C library")
}

/// Takes what has happened meanwhile, and what the program wrote.
fn serve(session: &mut Session, output: &mut BufReader<std::process::ChildStdout>, text: &mut String) {
    for _ in 0..20 {
        while let Some(event) = session.poll().expect("an event") {
            if let EventKind::Forked { child } = event.kind {
                session.resume(child.leader()).expect("the child is held");
            }
            if event.is_held() {
                session.resume(event.tid).expect("it is held");
            }
        }
        let mut ready =
            [PollFd::new(session.as_fd(), PollFlags::POLLIN), PollFd::new(output.get_ref().as_fd(), PollFlags::POLLIN)];
        match poll(&mut ready, 10u16) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => panic!("poll: {error}"),
        }
        if ready[1].any() == Some(true) {
            while !text.ends_with("done\n") && output.read_line(text).expect("text") > 0 {}
        }
    }
}
