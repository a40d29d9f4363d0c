//! `ntrace top` within tmux, a terminal that is itself a program.

mod common;

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{build, scratch};

/// The longest wait for what the screen has to show.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of tmux of its own, with one window.
struct Tmux {
    socket: std::path::PathBuf,
}

impl Tmux {
    /// Runs a script in a window of 100 columns and 12 rows. The window stays when the script has ended.
    fn run(script: &str) -> Tmux {
        let tmux = Tmux { socket: scratch("tmux") };
        let size = ["-x", "100", "-y", "12"];
        // Without a configuration file, and with a window that stays.
        let start = ["-f", "/dev/null", "new-session", "-d"];
        let stays = [script, ";", "set-option", "remain-on-exit", "on"];
        tmux.command(&[&start[..], &size, &stays].concat()).expect("tmux opens a window");
        tmux
    }

    /// What a command of tmux prints. `None`: it failed.
    fn command(&self, arguments: &[&str]) -> Option<String> {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.socket).args(arguments).env("LC_ALL", "C.UTF-8").env_remove("TMUX");
        let output = tmux.stdin(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn press(&self, key: &str) {
        self.command(&["send-keys", key]).expect("tmux takes keys");
    }

    /// Waits until the window is as wanted, and returns its lines.
    fn until(&self, what: &str, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        let begin = Instant::now();
        loop {
            let shown = self.command(&["capture-pane", "-p"]).expect("tmux shows the window");
            let lines: Vec<String> = shown.lines().map(str::to_owned).collect();
            if wanted(&lines) {
                return lines;
            }
            assert!(begin.elapsed() < PATIENCE, "{what}: {shown}");
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]);
    }
}

fn has(lines: &[String], text: &str) -> bool {
    lines.iter().any(|line| line.contains(text))
}

#[test]
fn the_view_follows_keys_and_sizes_of_tmux_and_gives_the_window_back() {
    if Command::new("tmux").arg("-V").output().is_err() {
        return crossing::skip("the_view_follows_keys_and_sizes_of_tmux", "no tmux");
    }
    let program = build("terminal.c", &[]);
    let mut running = Command::new(&program).arg("reads").stdin(Stdio::piped()).spawn().unwrap();
    let ntrace = env!("CARGO_BIN_EXE_ntrace");
    let script = format!("{ntrace} top -b beat -p {}; echo STATUS $?", running.id());
    let tmux = Tmux::run(&script);
    tmux.until("the view", |lines| lines[0].starts_with("ntrace top:") && has(lines, "!beat"));
    tmux.press("p");
    tmux.until("a pause", |lines| lines[0].contains("paused"));
    tmux.press("p");
    tmux.until("no pause", |lines| !lines[0].contains("paused"));
    tmux.command(&["resize-window", "-x", "60", "-y", "6"]).expect("tmux gives a window another size");
    tmux.until("a smaller view", |lines| lines.len() == 6 && lines[5].starts_with("q quit"));
    tmux.command(&["resize-window", "-x", "100", "-y", "12"]).expect("tmux gives a window another size");
    tmux.until("a larger view", |lines| lines.len() == 12 && lines[11].starts_with("q quit"));
    tmux.press("q");
    let lines = tmux.until("the counts", |lines| has(lines, "STATUS"));
    assert!(!has(&lines, "ntrace top:") && has(&lines, "in all") && has(&lines, "STATUS 0"), "{lines:#?}");
    assert_eq!(running.try_wait().unwrap(), None);
    running.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(running.wait().unwrap().success());
}
