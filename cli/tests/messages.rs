//! What cannot be done is said clearly, with a status of its own.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use common::{run, scratch, stderr};

fn file(name: &str, bytes: &[u8], mode: u32) -> PathBuf {
    let path = scratch(name);
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

#[test]
fn programs_that_cannot_be_run_are_told_apart() {
    let ls = fs::read("/bin/ls").unwrap();
    let mut foreign = ls.clone();
    foreign[18..20].copy_from_slice(&22u16.to_le_bytes());
    let cases = [
        (PathBuf::from("/no/such/program"), 127, "no such program"),
        (PathBuf::from("no-such-program-anywhere"), 127, "no such program"),
        (PathBuf::from("/"), 126, "a directory"),
        (file("plain", &ls, 0o644), 126, "Permission denied"),
        (file("foreign", &foreign, 0o755), 126, "s390"),
        (file("short", &ls[..3000], 0o755), 126, "corrupt ELF file"),
        (file("noise", &[1, 2, 3, 0, 0, 0, 255], 0o755), 126, "not an ELF file"),
        (file("script", b"#!/no/such/interpreter\n", 0o755), 126, "interpreter"),
    ];
    for (path, status, message) in cases {
        let output = run(&["trace", "-b", "main", "--", path.to_str().unwrap()]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{}: {text}", path.display());
        assert!(text.starts_with("ntrace: ") && text.contains(message), "{}: {text}", path.display());
    }
}

#[test]
fn a_process_that_is_not_there_is_named() {
    let output = run(&["count", "-b", "main", "-p", "4194304"]);
    assert_eq!(output.status.code(), Some(127));
    assert_eq!(stderr(&output), "ntrace: no such process: 4194304\n");
}

#[test]
fn wrong_command_lines_are_usage_errors() {
    for args in [
        &["trace"][..],
        &["trace", "-b", "main"],
        &["trace", "--", "true"],
        &["trace", "-b", "main", "-p", "0"],
        &["trace", "-b", "main", "-p", "1", "--", "true"],
        &["trace", "-b", "0xzz", "--", "true"],
        &["nonsense"],
    ] {
        assert_eq!(run(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn help_shows_examples() {
    for command in ["trace", "count", "explain", "survey"] {
        let output = run(&[command, "--help"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("Examples:") && text.contains(&format!("ntrace {command}")), "{text}");
    }
}
