use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The whole environment of every program that is compared.
pub(super) const ENVIRONMENT: [(&str, &str); 3] = [("LC_ALL", "C"), ("PATH", "/usr/bin:/bin"), ("PYTHONHASHSEED", "0")];

/// What a program showed to the world.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Exit code or signal, as the shell would tell it.
    pub status: String,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs `command` with an empty standard input and a small fixed environment.
///
/// # Panics
/// Where it cannot be started.
pub fn run(command: &mut Command) -> Outcome {
    let output = prepare(command).output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    Outcome {
        status: output.status.to_string(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs `command` like [`run`], with `/dev/null` as its output too.
///
/// # Panics
/// Where it cannot be started.
pub fn run_silently(command: &mut Command) {
    let status = prepare(command).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
}

fn prepare(command: &mut Command) -> &mut Command {
    command.env_clear().envs(ENVIRONMENT.iter().copied()).stdin(Stdio::null())
}

/// The `ntrace` command, built for release from this workspace.
///
/// # Panics
/// Where it cannot be built.
pub fn ntrace() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--release", "--package", "ntrace"])
            .current_dir(&root)
            .status()
            .unwrap_or_else(|error| panic!("cannot run cargo: {error}"));
        assert!(status.success(), "cannot build ntrace: {status}");
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        target.join("release/ntrace")
    })
}
