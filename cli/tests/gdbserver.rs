//! `ntrace gdbserver`, with Debian's gdb and with a client of few lines.

mod common;

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::{build, build_narrow, ntrace, scratch, stdout};
use crossing::skip;

/// What gdb says to commands. In them `SERVER` is the pipe to ntrace up to its arguments, `PROGRAM` the program.
fn gdb(program: &Path, commands: &str) -> String {
    let script = scratch("gdb.script");
    let server = format!("target remote | {} gdbserver -", env!("CARGO_BIN_EXE_ntrace"));
    let commands = commands.replace("SERVER", &server).replace("PROGRAM", &program.display().to_string());
    let settings = "set pagination off\nset confirm off\nset width 0\nset sysroot /\nset debuginfod enabled off\n";
    fs::write(&script, format!("{settings}file {}\n{commands}", program.display())).unwrap();
    // The texts of gdb, of the program and of ntrace come in the order in which they were written.
    let run = "exec timeout -s KILL 100 gdb -q -nx -batch -x \"$1\" 2>&1";
    let output = Command::new("sh").args(["-c", run, "gdb"]).arg(&script).output().unwrap();
    let said = stdout(&output);
    assert!(output.status.code().is_some(), "{said}");
    said
}

fn has_gdb(test: &str) -> bool {
    let has = Command::new("gdb").arg("--version").output().is_ok();
    if !has {
        skip(test, "no gdb");
    }
    has
}

/// Whether the parts follow each other in the text.
#[track_caller]
fn expect(said: &str, parts: &[&str]) {
    let mut rest = said;
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else { panic!("no {part:?} in its place in:\n{said}") };
        rest = behind;
    }
}

#[test]
fn a_condition_holds_where_the_program_says_so_and_values_are_the_programs() {
    if !has_gdb("a_condition_holds_where_the_program_says_so_and_values_are_the_programs") {
        return;
    }
    let program = build("debugged.c", &["-g", "-O0", "-pthread"]);
    let said = gdb(
        &program,
        "SERVER -- PROGRAM calls\nbreak work if i == 150 && total > 9\ncontinue\nbacktrace 2\nfinish\nprint total\n\
         print work(4, \"x\")\nset var total = 7\nprint total\ncontinue\n",
    );
    expect(&said, &["work (i=150, who=", "\"main\")", "in calls", "Value returned is $1 = 300"]);
    expect(&said, &["$2 = 22650", "$3 = 8", "$4 = 7", "exited with code 05"]);
}

/// gdb evaluates conditions again at each stop, and none for texts that the server prints.
#[test]
fn a_condition_that_is_no_comparison_is_evaluated_by_the_server() {
    if !has_gdb("a_condition_that_is_no_comparison_is_evaluated_by_the_server") {
        return;
    }
    let program = build("debugged.c", &["-g", "-O0", "-pthread"]);
    let said = gdb(
        &program,
        "SERVER -- PROGRAM calls\nset dprintf-style agent\ndprintf work,\"%d of %s\\n\",i,who\ncondition 1 i % 50 == 49 && i > 100\n\
         continue\n",
    );
    assert_eq!(said.matches(" of main").count(), 2, "{said}");
    // gdb shows these texts and its own in two streams.
    for part in ["149 of main\n", "199 of main\n", "exited with code 05"] {
        expect(&said, &[part]);
    }
}

#[test]
fn texts_are_printed_by_the_server_at_each_hit_whose_condition_holds() {
    if !has_gdb("texts_are_printed_by_the_server_at_each_hit_whose_condition_holds") {
        return;
    }
    let program = build("debugged.c", &["-g", "-O0", "-pthread"]);
    let said = gdb(
        &program,
        "SERVER -- PROGRAM threads\nset dprintf-style agent\ndprintf work,\"%s has %d\\n\",who,i\ncondition 1 i > 40 && i <= 47\n\
         continue\n",
    );
    assert_eq!(said.matches("thread has ").count(), 4 * 7, "{said}");
    for i in 41..48 {
        assert_eq!(said.matches(&format!("thread has {i}\n")).count(), 4, "{said}");
    }
    expect(&said, &["total 9800", "exited with code 06"]);
}

#[test]
fn in_non_stop_mode_the_other_threads_run_while_one_is_held() {
    if !has_gdb("in_non_stop_mode_the_other_threads_run_while_one_is_held") {
        return;
    }
    let program = build("debugged.c", &["-g", "-O0", "-pthread"]);
    let said = gdb(
        &program,
        "set non-stop on\nSERVER -- PROGRAM threads\nbreak work if i == 49\ncontinue\ninfo threads\ndelete\ncontinue -a\n",
    );
    expect(&said, &["hit Breakpoint 1", "work (i=49", "(running)"]);
    expect(&said, &["total 9800", "exited with code 06"]);
}

#[test]
fn watchpoints_and_hardware_breakpoints_stop_at_the_access() {
    if !has_gdb("watchpoints_and_hardware_breakpoints_stop_at_the_access") {
        return;
    }
    let program = build("debugged.c", &["-g", "-O0", "-pthread"]);
    let said = gdb(
        &program,
        "SERVER -- PROGRAM calls\nhbreak calls\ncontinue\ndelete\nwatch total\ncontinue\ncontinue\ndelete\nstepi\nnext\ncontinue\n",
    );
    expect(&said, &["Hardware assisted breakpoint 1", "Breakpoint 1, calls", "Hardware watchpoint 2: total"]);
    expect(&said, &["Old value = 0", "New value = 2", "Old value = 2", "New value = 6", "exited with code 05"]);
}

#[test]
fn forks_vforks_and_execs_are_told_and_followed() {
    if !has_gdb("forks_vforks_and_execs_are_told_and_followed") {
        return;
    }
    let program = build("debugged.c", &["-g", "-O0", "-pthread"]);
    let told = gdb(
        &program,
        "SERVER -- PROGRAM children\ncatch fork\ncatch vfork\ncontinue\nbreak work\ncontinue\ncontinue\ncontinue\n",
    );
    expect(&told, &["(forked process", "(vforked process", "work (i=9, who=", "child 5", "exited with code 010"]);
    let followed = gdb(
        &program,
        "SERVER -- PROGRAM children\nset follow-fork-mode child\nbreak work\ncontinue\ncontinue\ncontinue\ndelete\ncontinue\n",
    );
    expect(
        &followed,
        &["work (i=7, who=", "\"child\")", "is executing new program", "work (i=0, who=", "work (i=1, who="],
    );
    expect(&followed, &["exited with code 05"]);
    let both = gdb(
        &program,
        "SERVER -- PROGRAM children\nset detach-on-fork off\nset schedule-multiple on\nbreak work\ncontinue\ndelete\ncontinue\n\
         inferior 1\nset detach-on-fork on\ncontinue\n",
    );
    expect(&both, &["work (i=7, who=", "exited with code 05"]);
    expect(&both, &["child 5", "exited with code 010"]);
}

#[test]
fn system_calls_and_signals_are_told() {
    if !has_gdb("system_calls_and_signals_are_told") {
        return;
    }
    let program = build("debugged.c", &["-g", "-O0", "-pthread"]);
    let calls = gdb(&program, "SERVER -- PROGRAM calls\ncatch syscall write\ncontinue\ncontinue\ncontinue\n");
    expect(&calls, &["(call to syscall write)", "total 39800", "(returned from syscall write)", "exited with code 05"]);
    let signals = gdb(
        &program,
        "SERVER -- PROGRAM signals\ncontinue\nprint $_siginfo.si_signo\nbreak handle\ncontinue\nfinish\ncontinue\n\
         print $_siginfo._sifields._sigfault.si_addr\nprint handled\ncontinue\n",
    );
    expect(
        &signals,
        &["signal SIGUSR1", "$1 = 10", "handle (signal=10)", "signal SIGSEGV", "$2 = (void *) 0x10", "$3 = 10"],
    );
    expect(&signals, &["terminated with signal SIGSEGV"]);
    let dropped = gdb(&program, "SERVER -- PROGRAM signals\ncontinue\nsignal 0\nprint handled\nkill\n");
    expect(&dropped, &["signal SIGUSR1", "signal SIGSEGV", "$1 = 0"]);
}

#[test]
fn programs_are_started_again_attached_to_and_left_alone() {
    if !has_gdb("programs_are_started_again_attached_to_and_left_alone") {
        return;
    }
    let program = build("debugged.c", &["-g", "-O0", "-pthread"]);
    let extended = |rest: &str| {
        let rest = rest.replace("SERVER", "SERVER --multi").replace("target remote", "target extended-remote");
        gdb(&program, &rest)
    };
    let commands = "set remote exec-file PROGRAM\nset args calls\nbreak work if i == 3\nrun\nrun\ndelete\ncontinue\nset args threads\nrun\n";
    let server = format!("target extended-remote | {} gdbserver --multi -\n", env!("CARGO_BIN_EXE_ntrace"));
    let said = extended(&format!("{server}{commands}"));
    assert_eq!(said.matches("work (i=3, who=").count(), 2, "{said}");
    expect(&said, &["exited with code 05", "exited with code 06"]);

    let mut running = Running::start(&program);
    let pid = running.child.id();
    let said = extended(&format!("{server}attach {pid}\nbacktrace\nbreak work\ndetach\n"));
    expect(&said, &["waits ()", "main (", "detached"]);
    assert_eq!(running.end(), Some(i32::from(b'*')));
}

/// The program, waiting for a byte.
struct Running {
    child: Child,
}

impl Running {
    fn start(program: &Path) -> Running {
        let mut child =
            Command::new(program).arg("waits").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "waiting\n");
        Running { child }
    }

    /// Gives it the byte, and returns its status.
    fn end(&mut self) -> Option<i32> {
        self.child.stdin.take().unwrap().write_all(b"*").unwrap();
        self.child.wait().unwrap().code()
    }
}

#[test]
fn registers_of_32_bit_programs_have_32_bits() {
    let Some(program) = build_narrow("debugged.c", &["-g", "-O0", "-pthread"]) else { return };
    if !has_gdb("registers_of_32_bit_programs_have_32_bits") {
        return;
    }
    let said = gdb(
        &program,
        "SERVER -- PROGRAM calls\nbreak work if i == 9\ncontinue\nprint i\nprint sizeof($esp)\nprint $eip == &work || 1\nfinish\ncontinue\n",
    );
    expect(&said, &["work (i=9", "$1 = 9", "$2 = 4", "Value returned is $4 = 18", "exited with code 05"]);
}

/// A client of the protocol.
struct Client {
    stream: UnixStream,
    server: Child,
    notices: VecDeque<String>,
}

impl Client {
    /// Connects to a server with these arguments.
    fn connect(arguments: &[&str]) -> Client {
        let socket = scratch("gdb.socket");
        let mut server = ntrace();
        server
            .arg("gdbserver")
            .arg(&socket)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut server = server.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("waiting for gdb"), "{line}");
        let stream = UnixStream::connect(&socket).unwrap();
        let mut client = Client { stream, server, notices: VecDeque::new() };
        client.ask("qSupported:multiprocess+;swbreak+");
        assert_eq!(client.ask("QStartNoAckMode"), "OK");
        client
    }

    fn send(&mut self, packet: &str) {
        let sum = packet.bytes().fold(0u8, u8::wrapping_add);
        write!(self.stream, "${packet}#{sum:02x}").unwrap();
    }

    /// The next packet or notification, and whether it is a notification.
    fn next(&mut self) -> (String, bool) {
        let mut byte = [0];
        let (mut text, mut is_notice) = (Vec::new(), None);
        loop {
            self.stream.read_exact(&mut byte).unwrap();
            match (is_notice, byte[0]) {
                (Some(_), b'#') => break,
                (Some(_), other) => text.push(other),
                (None, b'$') => is_notice = Some(false),
                (None, b'%') => is_notice = Some(true),
                _ => {}
            }
        }
        self.stream.read_exact(&mut [0; 2]).unwrap();
        (String::from_utf8(text).unwrap(), is_notice.unwrap())
    }

    /// The next packet. Notifications before it are kept.
    fn receive(&mut self) -> String {
        loop {
            match self.next() {
                (text, true) => self.notices.push_back(text),
                (text, false) => return text,
            }
        }
    }

    /// The next notification.
    fn notice(&mut self) -> String {
        self.notices.pop_front().unwrap_or_else(|| {
            let (text, is_notice) = self.next();
            assert!(is_notice, "{text}");
            text
        })
    }

    fn ask(&mut self, packet: &str) -> String {
        self.send(packet);
        self.receive()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn in_non_stop_mode_no_hit_of_a_thousand_breakpoints_by_eight_threads_is_missed() {
    let program = build("thousand.c", &["-O1", "-no-pie", "-pthread"]);
    let symbols = stdout(&Command::new("nm").arg(&program).output().unwrap());
    let sites: Vec<&str> = symbols.lines().filter(|line| line.contains(" f_")).map(|line| &line[..16]).collect();
    assert_eq!(sites.len(), 1024);
    let mut client = Client::connect(&["--", program.to_str().unwrap()]);
    assert_eq!(client.ask("QNonStop:1"), "OK");
    for site in &sites {
        assert_eq!(client.ask(&format!("Z0,{site},1")), "OK");
    }
    let (mut hits, mut has_ended) = (BTreeMap::<String, u32>::new(), false);
    assert_eq!(client.ask("vCont;c"), "OK");
    while !has_ended {
        let notice = client.notice();
        let mut stop = notice.strip_prefix("Stop:").unwrap_or_else(|| panic!("no stop: {notice}")).to_owned();
        let mut threads = Vec::new();
        while stop != "OK" {
            has_ended |= stop.starts_with('W');
            let thread = stop.strip_prefix("T05swbreak:;thread:").and_then(|rest| rest.strip_suffix(';'));
            threads.extend(thread.map(str::to_owned));
            stop = client.ask("vStopped");
        }
        for thread in threads {
            *hits.entry(thread.clone()).or_default() += 1;
            let notice = client.ask(&format!("vCont;c:{thread}"));
            assert_eq!(notice, "OK");
        }
    }
    assert_eq!(hits.into_values().collect::<Vec<_>>(), [1024; 8]);
}

#[test]
fn an_interrupt_stops_a_program_that_waits() {
    let program = build("debugged.c", &["-g", "-O0", "-pthread"]);
    let mut running = Running::start(&program);
    let mut client = Client::connect(&["-p", &running.child.id().to_string()]);
    client.send("vCont;c");
    client.stream.write_all(&[3]).unwrap();
    let pid = running.child.id();
    assert_eq!(client.receive(), format!("T02thread:p{pid:x}.{pid:x};"));
    assert_eq!(client.ask(&format!("D;{pid:x}")), "OK");
    assert_eq!(running.end(), Some(i32::from(b'*')));
}

#[test]
fn a_program_runs_on_when_its_debugger_or_the_server_is_killed() {
    let program = build("debugged.c", &["-g", "-O0", "-pthread"]);
    let connected = |running: &Running| {
        let mut client = Client::connect(&["-p", &running.child.id().to_string()]);
        let pc = client.ask("p10");
        let pc = u64::from_str_radix(&pc, 16).unwrap().swap_bytes();
        // The instruction behind the system call that it waits in.
        assert_eq!(client.ask(&format!("Z0,{pc:x},1")), "OK");
        client.send("vCont;c");
        client
    };
    let mut running = Running::start(&program);
    let client = connected(&running);
    client.stream.shutdown(std::net::Shutdown::Both).unwrap();
    assert_eq!(running.end(), Some(i32::from(b'*')));
    drop(client);
    let mut running = Running::start(&program);
    let mut client = connected(&running);
    client.server.kill().unwrap();
    client.server.wait().unwrap();
    assert_eq!(running.end(), Some(i32::from(b'*')));
}

#[test]
fn what_no_client_should_send_is_answered_and_the_conversation_goes_on() {
    let program = build("debugged.c", &["-g", "-O0", "-pthread"]);
    let mut client = Client::connect(&["--", program.to_str().unwrap(), "calls"]);
    for packet in ["nonsense", "vFile:unknown:", "qXfer:nothing:read::0,10", "Z9,0,1", "QUnknown"] {
        assert_eq!(client.ask(packet), "", "{packet}");
    }
    for packet in [
        "m",
        "mzz,1",
        "m10,4",
        "M10,4:00",
        "pzz",
        "pffff",
        "P0=zz",
        "Z0,zz,1",
        "Z0,10,1",
        "z0",
        "Hgzz",
        "vCont;x",
        "vCont;Cff",
        "vAttach;zz",
        "vRun;zz",
        "vKill;1",
        "D;1",
        "T99",
        "qXfer:features:read:other:0,10",
        "qXfer:features:read:target.xml:zz",
        "X10,4:x",
        "Z2,1,0",
        "QCatchSyscalls:x",
        "C",
        "G00zz",
    ] {
        let answer = client.ask(packet);
        assert!(answer.starts_with('E') || packet == "G00zz" && answer == "OK", "{packet}: {answer}");
    }
    for packet in ["vFile:open:zz,0,0", "vFile:close:7", "vFile:pread:7,10,0", "vFile:fstat:7", "vFile:readlink:2f"] {
        assert!(client.ask(packet).starts_with("F-1,"), "{packet}");
    }
    let description = client.ask("qXfer:features:read:target.xml:0,ffff");
    assert!(description.starts_with('l') && description.ends_with("</target>"), "{description}");
    client.send("vCont;c");
    let pid = client.receive();
    assert!(pid.starts_with("W05;process:"), "{pid}");
}
