//! Files that change while they are traced, and files with which a debuggee may do harm.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant, UNIX_EPOCH};

use common::{build, count, ntrace, scratch, stderr, stdout};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::Value;
use ubp::arch::BREAKPOINT;

/// The exit status of `calls.c`.
const ENDS_WITH: i32 = 7;

/// Builds the library of the test program with the given flags.
fn library(flags: &[&str]) -> PathBuf {
    build("replacement.c", &[&["-shared", "-fPIC"], flags].concat())
}

/// Overwrites a file in place, as cp(1) does: the inode stays.
fn write_over(from: &Path, to: &Path) {
    let bytes = fs::read(from).unwrap();
    fs::write(to, bytes).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Replaces a file by a copy with another inode, as install(1) does.
fn rename_over(from: &Path, to: &Path) {
    let copy = scratch("copy");
    write_over(from, &copy);
    fs::rename(&copy, to).unwrap();
}

/// The running test program, traced or not, and its answers.
struct Driven {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Driven {
    fn start(command: &mut Command) -> Driven {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let (orders, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Driven { child, orders, answers }
    }

    fn order(&mut self, letter: &str) -> String {
        self.orders.write_all(letter.as_bytes()).unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line.trim_end().into()
    }

    /// Ends the program. Returns its standard error.
    fn end(mut self) -> String {
        drop(self.orders);
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {text}");
        text
    }
}

/// Starts `ntrace count` of the test program with locations.
struct Counted {
    program: Driven,
    file: PathBuf,
}

impl Counted {
    fn start(locations: &[&str], library: &Path) -> Counted {
        let file = scratch("counts.json");
        let mut command = count_into(&file, locations);
        command.arg("--").arg(build("replaced.c", &["-ldl"])).arg(library);
        Counted { program: Driven::start(&mut command), file }
    }

    /// Returns the rows of hits by symbol, and the messages.
    fn end(self) -> (Vec<(String, u64)>, String) {
        let said = self.program.end();
        (rows(&self.file), said)
    }
}

fn count_into(file: &Path, locations: &[&str]) -> Command {
    let mut command = ntrace();
    command.args(["count", "--format", "json", "-o"]).arg(file);
    command.args(locations.iter().flat_map(|location| ["-b", location]));
    command
}

fn rows(file: &Path) -> Vec<(String, u64)> {
    let table: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let row = |row: &Value| (row["symbol"].as_str().unwrap_or_default().to_string(), row["hits"].as_u64().unwrap());
    table["counts"].as_array().unwrap().iter().map(row).collect()
}

fn row(symbol: &str, hits: u64) -> (String, u64) {
    (symbol.into(), hits)
}

#[test]
fn a_program_that_is_built_again_at_the_same_path_runs_as_it_would_alone_and_is_one_module() {
    let builds = [build("calls.c", &[]), build("calls.c", &["-O0", "-falign-functions=64"])];
    let path = scratch("built-again");
    let script = "for build in $0 $1 $0; do cat $build >$2; chmod +x $2; $2 3; echo $?; done";
    let args = ["-c", script].map(Path::new).into_iter().chain(builds.iter().map(PathBuf::as_path)).chain([&*path]);
    let args: Vec<&str> = args.map(|arg| arg.to_str().unwrap()).collect();
    let alone = Command::new("/bin/sh").args(&args).output().unwrap();
    fs::remove_file(&path).unwrap();
    let counts = count(&["*built-again!work"], &[], Path::new("/bin/sh"), &args);
    assert_eq!(stdout(&counts.output), stdout(&alone), "{}", stderr(&counts.output));
    assert_eq!((counts.total, counts.rows.len()), (9, 1), "{:?}", counts.rows);
}

#[test]
fn the_same_path_and_inode_in_two_mount_namespaces_are_two_files() {
    let builds = [build("calls.c", &[]), build("calls.c", &["-O0", "-falign-functions=64"])];
    let folder = scratch("mounts");
    fs::create_dir(&folder).unwrap();
    let inner = "mount -t tmpfs none $1 && cp $0 $1/mounted && $1/mounted 3; echo $?";
    let script = format!("for build in $0 $1; do unshare -rm sh -c '{inner}' $build $2; done");
    let args = [&*builds[0], &*builds[1], &*folder].map(|path| path.to_str().unwrap());
    let args = [&["-c", &script], &args[..]].concat();
    let alone = Command::new("/bin/sh").args(&args).output().unwrap();
    if stdout(&alone).lines().count() < 3 || !stderr(&alone).is_empty() {
        crossing::skip("the_same_path_and_inode_in_two_mount_namespaces", stderr(&alone).trim_end());
        return;
    }
    let counts = count(&["mounted!work"], &[], Path::new("/bin/sh"), &args);
    assert_eq!(stdout(&counts.output), stdout(&alone), "{}", stderr(&counts.output));
    assert_eq!((counts.total, counts.rows.len()), (6, 1), "{:?}", counts.rows);
}

#[test]
fn a_library_that_is_loaded_again_from_another_file_at_its_path_is_followed() {
    let builds = [library(&[]), library(&["-DPAD"])];
    let path = scratch("reloaded.so");
    write_over(&builds[0], &path);
    let mut counted = Counted::start(&["plugged"], &path);
    for (round, replace) in [write_over, write_over, rename_over, rename_over].into_iter().enumerate() {
        counted.program.order("d");
        assert_eq!(counted.program.order("c"), "6");
        counted.program.order("u");
        replace(&builds[(round + 1) % 2], &path);
    }
    let (rows, said) = counted.end();
    assert_eq!(rows, [row("plugged", 16)], "{said}");
}

#[test]
fn builds_that_follow_each_other_in_one_file_are_told_apart_whatever_its_times_say() {
    let builds = [library(&[]), library(&["-DSWAP"])];
    let sizes = builds.each_ref().map(|build| fs::metadata(build).unwrap().len());
    assert_eq!(sizes[0], sizes[1]);
    let path = scratch("swapped.so");
    let write = |round: usize| {
        write_over(&builds[round % 2], &path);
        fs::File::options().write(true).open(&path).unwrap().set_modified(UNIX_EPOCH).unwrap();
    };
    write(0);
    let mut counted = Counted::start(&["plugged"], &path);
    for round in 1..=12 {
        counted.program.order("d");
        assert_eq!(counted.program.order("c"), "6");
        counted.program.order("u");
        write(round);
    }
    let (rows, said) = counted.end();
    assert_eq!(rows, [row("plugged", 48)], "{said}");
}

#[test]
fn a_library_that_is_written_in_place_while_it_is_mapped_gets_breakpoints_where_memory_holds_its_code() {
    let builds = [library(&[]), library(&["-DVALUE=2"])];
    let path = scratch("in-place.so");
    write_over(&builds[0], &path);
    let mut counted = Counted::start(&["plugged", "other"], &path);
    counted.program.order("d");
    assert_eq!(counted.program.order("c"), "6");
    // The file must not become shorter, since its pages contain data of the program.
    let bytes = fs::read(&builds[1]).unwrap();
    assert_eq!(bytes.len() as u64, fs::metadata(&path).unwrap().len());
    fs::File::options().write(true).open(&path).unwrap().write_all_at(&bytes, 0).unwrap();
    // ntrace notices the change when the next library is loaded.
    assert_eq!(counted.program.order("l"), "loaded");
    assert_eq!(counted.program.order("c"), "6");
    let (rows, said) = counted.end();
    // The kernel copied the page of the function for the first breakpoint, so the page has the bytes that the file had at that time.
    assert!(said.contains("!other': no breakpoint: memory does not hold the code of"), "{said}");
    assert_eq!(rows, [row("other", 8), row("plugged", 8)], "{said}");
}

/// A program that has loaded a library before ntrace attaches.
struct Attached {
    program: Driven,
    plugged: u64,
    path: PathBuf,
}

impl Attached {
    fn start(library: &Path) -> Attached {
        let path = scratch("attached.so");
        write_over(library, &path);
        let mut program = Driven::start(Command::new(build("replaced.c", &["-ldl"])).arg(&path));
        let plugged = program.order("d");
        let plugged = u64::from_str_radix(plugged.strip_prefix("0x").unwrap(), 16).unwrap();
        Attached { program, plugged, path }
    }

    /// The first bytes of the library's function.
    fn code(&self) -> [u8; BREAKPOINT.len()] {
        let memory = fs::File::open(format!("/proc/{}/mem", self.program.child.id())).unwrap();
        let mut bytes = [0; BREAKPOINT.len()];
        memory.read_exact_at(&mut bytes, self.plugged).unwrap();
        bytes
    }

    /// Attaches with `ntrace`, which `prefix` runs, calls the library, and ends the program. Returns the hits by symbol, and the messages.
    fn count(mut self, prefix: &[&str], locations: &[&str]) -> (Vec<(String, u64)>, String) {
        let (file, said) = (scratch("counts.json"), scratch("said"));
        let counting = count_into(&file, locations);
        let mut words = prefix.iter().map(OsStr::new).chain([counting.get_program()]).chain(counting.get_args());
        let mut command = Command::new(words.next().unwrap());
        command.args(words).arg("-p").arg(self.program.child.id().to_string()).stdin(Stdio::null());
        let before = self.code();
        let mut ntrace = command.stderr(fs::File::create(&said).unwrap()).spawn().unwrap();
        let start = Instant::now();
        loop {
            // A breakpoint instruction or a jump.
            if self.code() != before || fs::read_to_string(&said).unwrap().contains("waiting for libraries") {
                break;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "ntrace is not ready");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(self.program.order("c"), "6");
        self.program.end();
        ntrace.wait().unwrap();
        (rows(&file), fs::read_to_string(&said).unwrap())
    }
}

#[test]
fn a_library_that_was_replaced_or_deleted_is_read_by_its_mapping_or_named() {
    let may = Path::new("/proc/self/map_files");
    let first = fs::read_dir(may).unwrap().next().unwrap().unwrap();
    let may_open = fs::File::open(first.path()).is_ok();
    let dropped = "-sys_admin,-checkpoint_restore";
    let drop_all = ["setpriv", "--bounding-set", dropped, "--inh-caps", dropped];
    let variants = if may_open { &[(&[][..], true), (&drop_all[..], false)][..] } else { &[(&[][..], false)][..] };
    for (prefix, readable) in variants {
        for replace in
            [|path: &Path| rename_over(&library(&["-DPAD"]), path), |path: &Path| fs::remove_file(path).unwrap()]
        {
            let attached = Attached::start(&library(&[]));
            replace(&attached.path);
            let (rows, said) = attached.count(prefix, &["plugged"]);
            if *readable {
                assert_eq!(rows, [row("plugged", 4)], "{said}");
            } else {
                assert!(said.contains("attached.so was deleted or replaced after it was mapped"), "{said}");
                assert_eq!(rows, [], "{said}");
            }
        }
        // Another copy of the same build serves as the mapped file.
        let attached = Attached::start(&library(&[]));
        rename_over(&attached.path, &attached.path);
        let (rows, said) = attached.count(prefix, &["plugged"]);
        assert_eq!(rows, [row("plugged", 4)], "{said}");
    }
}

#[test]
fn a_function_that_the_program_changed_in_memory_gets_no_breakpoint_and_is_named() {
    let mut attached = Attached::start(&library(&[]));
    assert_eq!(attached.program.order("p"), "patched");
    let (rows, said) = attached.count(&[], &["other", "plugged"]);
    assert!(said.contains("attached.so!other': no breakpoint: memory does not hold the code of /"), "{said}");
    assert_eq!(rows, [row("plugged", 4)], "{said}");
}

/// Returns a folder with the stripped test program, which names the debug file `linked.debug`.
fn stripped() -> (PathBuf, PathBuf) {
    let folder = scratch("stripped");
    fs::create_dir(&folder).unwrap();
    let (program, debug) = (folder.join("program"), folder.join("linked.debug"));
    let whole = build("calls.c", &["-Wl,--build-id=none"]);
    for args in [
        &["--only-keep-debug".into(), whole.clone(), debug.clone()][..],
        &["-S".into(), format!("--add-gnu-debuglink={}", debug.display()).into(), whole, program.clone()],
    ] {
        let done = Command::new("objcopy").args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", stderr(&done));
    }
    (program, debug)
}

#[test]
fn a_debug_link_that_names_a_pipe_a_device_or_procfs_is_told_of_and_waited_for_by_nobody() {
    let (program, debug) = stripped();
    assert_eq!(count(&["work"], &[], &program, &["5"]).total, 5);
    for (target, why) in [
        (None, "not a regular file"),
        (Some("/dev/zero"), "not a regular file"),
        (Some("/proc/kmsg"), "a file of proc, which stores no files"),
    ] {
        fs::remove_file(&debug).unwrap();
        match target {
            None => mkfifo(&debug, Mode::S_IRUSR | Mode::S_IWUSR).unwrap(),
            Some(target) => symlink(target, &debug).unwrap(),
        }
        let counts = count(&["atoi", "work"], &[], &program, &["5"]);
        assert_eq!(counts.output.status.code(), Some(ENDS_WITH), "{target:?}");
        let said = stderr(&counts.output);
        assert!(said.contains(&format!("linked.debug is not read: {why}")), "{target:?}: {said}");
    }
}

#[test]
fn the_size_that_a_file_claims_is_not_the_memory_that_it_takes() {
    let large = scratch("sparse");
    write_over(&build("calls.c", &[]), &large);
    fs::File::options().write(true).open(&large).unwrap().set_len(3 << 30).unwrap();
    // The memory in KiB.
    let limit = "ulimit -v 1000000; exec \"$0\" \"$@\"";
    let path = large.to_str().unwrap();
    for (args, status) in [(&["survey", path][..], 0), (&["count", "-b", "work", "--", path], ENDS_WITH)] {
        let output = Command::new("/bin/sh").args(["-c", limit, env!("CARGO_BIN_EXE_ntrace")]).args(args).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(status), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn what_the_loader_writes_into_code_is_no_other_code() {
    let attached = Attached::start(&library(&["-fno-pic", "-mcmodel=large", "-Wl,-z,notext"]));
    let (rows, said) = attached.count(&[], &["plugged"]);
    assert_eq!(rows, [row("plugged", 4)], "{said}");
}
