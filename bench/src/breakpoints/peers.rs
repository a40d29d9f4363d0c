//! gdb, which counts hits and ignores them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::debuggee::Debuggee;

/// The longest time until a program has set its breakpoint.
const PATIENCE: Duration = Duration::from_secs(5);
/// The breakpoint instruction, `int3`.
const BREAKPOINT: u8 = 0xcc;
/// A process that ends with this value.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        // Failures mean that it is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Nanoseconds of `count` hits that gdb counts.
pub(super) fn gdb(site: usize, count: u64) -> Result<u64> {
    let debuggee = Debuggee::start()?;
    let mut command = Command::new("gdb");
    command.args(["-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-p"]).arg(debuggee.pid().to_string());
    let place = format!("break *{:#x}", debuggee.sites[site]);
    command.args(["-ex", &place, "-ex", "ignore 1 1000000000", "-ex", "continue"]);
    measure(command, debuggee, site, count)
}

fn measure(mut command: Command, mut debuggee: Debuggee, site: usize, count: u64) -> Result<u64> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut peer = Peer(command.spawn().with_context(|| format!("{command:?}"))?);
    let pid = debuggee.pid();
    let (memory, start) = (File::open(format!("/proc/{pid}/mem"))?, Instant::now());
    let mut byte = [0];
    while byte != [BREAKPOINT] || std::fs::read_to_string(format!("/proc/{pid}/stat"))?.contains(") t ") {
        if peer.0.try_wait()?.is_some() || start.elapsed() > PATIENCE {
            bail!("{command:?} sets no breakpoint");
        }
        std::thread::sleep(Duration::from_millis(10));
        memory.read_exact_at(&mut byte, debuggee.sites[site])?;
    }
    debuggee.ask(site, count)?;
    debuggee.answer()
}
