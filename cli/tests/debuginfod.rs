//! Debug files from servers: Debian's own server on this machine, servers that are dead or silent, and a client that cannot be loaded.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::terminal::Terminal;
use common::{build_with, ntrace, scratch, stderr, stdout};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const SERVERS: &str = "DEBUGINFOD_URLS";
const TIMEOUT: &str = "DEBUGINFOD_TIMEOUT";
const BUILD_ID: &str = "aabbccddeeff00112233445566778899";

/// Debian's server, which has the files of one folder.
struct Server {
    child: Child,
    url: String,
    port: u16,
}

impl Server {
    /// Starts a server that has the file with the build ID of these tests. `None`, and a skipped test: there is no server here.
    fn start(folder: &Path) -> Option<Server> {
        let program = std::env::var_os("NTRACE_DEBUGINFOD").unwrap_or_else(|| "debuginfod".into());
        let begin = Instant::now();
        loop {
            let port = closed_port();
            let mut command = Command::new(&program);
            command
                .args(["-p", &port.to_string(), "-F", "-t", "1", "-d"])
                .arg(scratch("debuginfod.sqlite"))
                .arg(folder);
            command.env_remove(SERVERS).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let Ok(child) = command.spawn() else {
                crossing::skip("ntrace, with a server of debug files", "no debuginfod; `cargo xtask setup` brings it");
                return None;
            };
            let mut server = Server { child, url: format!("http://127.0.0.1:{port}"), port };
            let path = format!("/buildid/{BUILD_ID}/debuginfo");
            // The server ends if another process has taken its port.
            while server.child.try_wait().unwrap().is_none() {
                if server.get(&path).is_some_and(|answer| answer.starts_with("HTTP/1.1 200")) {
                    return Some(server);
                }
                assert!(begin.elapsed() < Duration::from_secs(60), "the server does not have its file");
                thread::sleep(Duration::from_millis(20));
            }
        }
    }

    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok()?;
        stream
            .write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())
            .ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        Some(String::from_utf8_lossy(&answer).into_owned())
    }

    /// The number of debug files that the server was asked for, by its own figures.
    fn requests(&self) -> u64 {
        let figures = self.get("/metrics").expect("the server tells its figures");
        let is_asked = |line: &&str| line.starts_with("http_requests_total{type=\"debuginfo\"}");
        let line = figures.lines().find(is_asked).unwrap_or_else(|| panic!("{figures}"));
        line.rsplit_once(' ').unwrap().1.trim().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port at which nobody listens.
fn closed_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// A stripped program, and a folder with its debug file.
fn stripped() -> (PathBuf, PathBuf) {
    let whole = program(&["-g"]);
    let (stripped, folder) = (scratch("stripped"), scratch("served"));
    fs::create_dir(&folder).unwrap();
    let objcopy = |args: &[&Path]| assert!(Command::new("objcopy").args(args).status().unwrap().success());
    objcopy(&["--only-keep-debug".as_ref(), &whole, &folder.join("calls.debug")]);
    objcopy(&["-S".as_ref(), &whole, &stripped]);
    (stripped, folder)
}

/// A program with symbols and a build ID.
fn program(flags: &[&str]) -> PathBuf {
    let id = format!("-Wl,--build-id=0x{BUILD_ID}");
    build_with("gcc", "calls.c", &[&["-O1", &id], flags].concat()).expect("gcc builds the program")
}

/// ntrace with servers, and with an empty cache of its own.
fn asking(servers: &str) -> Command {
    let mut command = ntrace();
    command.env("DEBUGINFOD_CACHE_PATH", scratch("cache")).env(SERVERS, servers).stdin(Stdio::null());
    command.env_remove("DEBUGINFOD_VERBOSE");
    command
}

/// Counts the calls of a function in a program without debug information, which ntrace asks the servers for.
fn counted(mut command: Command) -> Output {
    command.args(["count", "-b", "work", "--"]).arg(program(&[])).arg("5").output().unwrap()
}

#[test]
fn a_server_gives_lines_and_typed_arguments_and_is_asked_only_if_it_is_named() {
    let (program, folder) = stripped();
    let Some(server) = Server::start(&folder) else { return };
    let before = server.requests();
    let list = |mut command: Command| command.args(["list", "work", "-f"]).arg(&program).output().unwrap();
    let trace = |mut command: Command| {
        command
            .args(["trace", "-b", "work", "--args", "--time", "none", "--limit", "1", "--"])
            .arg(&program)
            .output()
            .unwrap()
    };
    for run in [&list, &trace] as [&dyn Fn(Command) -> Output; 2] {
        let silent = [asking(""), asking(" ")].map(run);
        let mut refused = asking(&server.url);
        refused.args(["--debuginfod", "none"]);
        for output in silent.into_iter().chain([run(refused)]) {
            assert!(stderr(&output).contains("'work'"), "{}", stderr(&output));
        }
    }
    assert_eq!(server.requests(), before);
    let line = "work at calls.c:";
    let output = list(asking(&server.url));
    assert!(stdout(&output).contains(line), "{}{}", stdout(&output), stderr(&output));
    assert!(server.requests() > before);
    let mut by_option = asking("");
    by_option.args(["--debuginfod", &server.url]);
    for command in [asking(&server.url), by_option] {
        let output = trace(command);
        let shown = stderr(&output);
        assert!(shown.contains("at calls.c:") && shown.contains("n=0, text=\"hello\", big=4886718345"), "{shown}");
    }
}

#[test]
fn a_file_that_was_fetched_is_not_fetched_again() {
    let (program, folder) = stripped();
    let Some(server) = Server::start(&folder) else { return };
    let cache = scratch("cache");
    let list = || {
        let mut command = asking(&server.url);
        command.env("DEBUGINFOD_CACHE_PATH", &cache).args(["list", "work", "-f"]).arg(&program).output().unwrap()
    };
    let (first, before) = (list(), server.requests());
    let second = list();
    assert_eq!((stdout(&first), server.requests()), (stdout(&second), before));
    assert!(stdout(&second).contains("calls.c:"), "{}", stderr(&second));
}

#[test]
fn a_program_has_the_environment_of_the_shell_and_not_the_servers_of_the_command_line() {
    let url = format!("http://127.0.0.1:{}", closed_port());
    for servers in [None, Some("http://127.0.0.1:9/own")] {
        let mut command = asking("");
        match servers {
            Some(servers) => command.env(SERVERS, servers),
            None => command.env_remove(SERVERS),
        };
        let output =
            command.args(["trace", "-b", "main", "--debuginfod", &url, "--", "printenv", SERVERS]).output().unwrap();
        assert_eq!(stdout(&output).trim(), servers.unwrap_or_default(), "{}", stderr(&output));
    }
}

#[test]
fn a_dead_server_is_told_of_once_and_costs_no_hit() {
    let url = format!("http://127.0.0.1:{}", closed_port());
    let both =
        asking(&url).args(["list", "work", "-f"]).arg(program(&[])).arg("-f").arg(program(&[])).output().unwrap();
    let told = stderr(&both);
    assert!(!has_library(&told) || told.matches("this run asks no more").count() == 1, "{told}");
    let output = counted(asking(&url));
    let shown = stderr(&output);
    assert_eq!(output.status.code(), Some(7), "{shown}");
    assert!(shown.lines().any(|line| line.trim_start().starts_with("5 ") && line.contains("!work")), "{shown}");
    if has_library(&shown) {
        assert_eq!(shown.matches("this run asks no more").count(), 1, "{shown}");
    }
}

#[test]
fn a_server_that_never_answers_is_left_after_the_time_of_the_environment() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut command = asking(&format!("http://me:secret@{}", silent.local_addr().unwrap()));
    command.env(TIMEOUT, "1");
    let output = counted(command);
    let shown = stderr(&output);
    assert_eq!(output.status.code(), Some(7), "{shown}");
    assert!(shown.contains("!work") && !shown.contains("secret"), "{shown}");
    if has_library(&shown) {
        assert_eq!(shown.matches("this run asks no more").count(), 1, "{shown}");
    }
}

#[test]
fn a_signal_ends_the_wait_for_a_server_that_never_answers() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    silent.set_nonblocking(true).unwrap();
    for args in [&["count", "-b", "work", "--"][..], &["list", "work", "-f"]] {
        let mut command = asking(&format!("http://{}", silent.local_addr().unwrap()));
        command.env(TIMEOUT, "0").args(args).arg(program(&[])).stderr(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let asked = loop {
            match silent.accept() {
                Ok(asked) => break Some(asked),
                Err(_) if child.try_wait().unwrap().is_some() => break None,
                Err(_) => thread::sleep(Duration::from_millis(5)),
            }
        };
        if asked.is_none() {
            let output = child.wait_with_output().unwrap();
            assert!(!has_library(&stderr(&output)), "{}", stderr(&output));
            return;
        }
        kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
        child.wait_with_output().unwrap();
    }
}

#[test]
fn a_long_wait_is_shown_on_the_terminal_with_what_ends_it_and_the_line_goes_then() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (cache, program) = (scratch("cache"), program(&[]));
    let url = format!("http://{}", silent.local_addr().unwrap());
    let variables = [
        (SERVERS, url.as_str()),
        (TIMEOUT, "0"),
        ("DEBUGINFOD_CACHE_PATH", cache.to_str().unwrap()),
        ("PROGRAM", program.to_str().unwrap()),
    ];
    if !has_library(&stderr(&counted(asking(&format!("http://127.0.0.1:{}", closed_port()))))) {
        return;
    }
    let mut terminal = Terminal::run("$N count -q -b work -- $PROGRAM; true", &variables);
    // Which file is asked for first depends on the debug information that is installed.
    terminal.until("fetching debug information (Ctrl-C ends ntrace): ");
    terminal.keyboard.write_all(b"\x03").unwrap();
    // The shell ends too if the signal ended ntrace.
    let all = terminal.finish();
    let last = all.rfind("fetching").unwrap();
    assert!(all[last..].contains("\x1b[2K") || all[last..].contains("\x1b[K"), "{all:?}");
}

#[test]
fn a_client_that_cannot_be_loaded_is_told_once_with_its_package_and_costs_no_hit() {
    let folder = scratch("libraries");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("libdebuginfod.so.1"), "no library").unwrap();
    let mut command = asking("http://127.0.0.1:9");
    command.env("LD_LIBRARY_PATH", &folder);
    let output = counted(command);
    let shown = stderr(&output);
    assert_eq!(output.status.code(), Some(7), "{shown}");
    assert_eq!(shown.matches("libdebuginfod1 has it").count(), 1, "{shown}");
    assert!(shown.contains("!work"), "{shown}");
}

#[test]
fn nothing_is_fetched_where_ntrace_has_more_permissions_than_its_user() {
    const TEST: &str = "nothing_is_fetched_where_ntrace_has_more_permissions";
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return crossing::skip(TEST, "only root can give a program to another user");
    }
    let (folder, program) = (scratch("permissions"), program(&[]));
    fs::create_dir(&folder).unwrap();
    let copy = folder.join("ntrace");
    // A process that another test makes meanwhile would have the copy's descriptor, and nobody executes a file that is open for writing.
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_ntrace")).arg(&copy).status().unwrap().success());
    std::os::unix::fs::chown(&copy, Some(65534), None).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).unwrap();
    let output =
        Command::new(&copy).args(["list", "work", "-f"]).arg(program).env(SERVERS, "http://127.0.0.1:9").output();
    let shown = stderr(&output.unwrap());
    if shown.contains("Permission denied") {
        return crossing::skip(TEST, "another user cannot read this folder");
    }
    assert!(shown.contains("AT_SECURE"), "{shown}");
}

/// Whether ntrace could load the client, by what it said. Reports a skipped test if not.
fn has_library(shown: &str) -> bool {
    let is_there = !shown.contains("cannot be loaded");
    if !is_there {
        crossing::skip("ntrace, with servers of debug files", "no libdebuginfod.so.1");
    }
    is_there
}
