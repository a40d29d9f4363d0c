//! Shows who asks for memory: `allocations PROGRAM [ARGS…]` prints the callers of `malloc`, the greediest first.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::process::Command;

use ubp::arch::Reg;
use ubp::{Address, EventKind, Session, Spec};
use ubp_symbols::{Images, Modules, Pattern, by_name};

/// The register of a function's first argument.
#[cfg(target_arch = "aarch64")]
const FIRST: Reg = Reg::general(0);
#[cfg(target_arch = "x86_64")]
const FIRST: Reg = Reg::RDI;

/// What a caller asked for.
#[derive(Default)]
struct Asked {
    calls: u64,
    bytes: u64,
}

/// Runs a program, and writes what each caller of `function` asked for by its first argument, in bytes.
pub(crate) fn run(command: Command, function: &str, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut session = Session::new()?;
    let (mut images, name) = (Images::default(), Pattern::new(function));
    let pid = session.spawn(command)?;
    let mut modules = Modules::new(pid);
    let mut callers: BTreeMap<Address, Asked> = BTreeMap::new();
    let mut shown: BTreeMap<String, Asked> = BTreeMap::new();
    session.resume(pid.leader())?;
    while let Some(event) = session.wait()? {
        match event.kind {
            EventKind::Loaded(_) | EventKind::Unloaded(_) => {
                // Addresses mean something else where a library goes and another one comes.
                settle(&modules, &mut callers, &mut shown);
                for module in modules.update(&session, &mut images)? {
                    let found = by_name(&module.image, &name, 0).sites;
                    let functions = found.iter().filter(|site| !site.indirect);
                    let specs: Vec<Spec> =
                        functions.map(|site| Spec::event(Address(module.in_memory(site.address)))).collect();
                    for answer in session.insert(pid, &specs)? {
                        answer?;
                    }
                }
            }
            EventKind::Forked { child } => session.detach(child)?,
            EventKind::Hit(_) => {
                let registers = session.registers(event.tid)?;
                if let Some(caller) = session.return_address(event.pid, &registers) {
                    let asked = callers.entry(caller).or_default();
                    asked.calls += 1;
                    asked.bytes += registers.get(FIRST).unwrap_or(0);
                }
            }
            EventKind::Exec => return Err("the program executes another one".into()),
            _ => {}
        }
        if event.is_held() {
            session.resume(event.tid)?;
        }
    }
    settle(&modules, &mut callers, &mut shown);
    let mut rows: Vec<(String, Asked)> = shown.into_iter().collect();
    rows.sort_by_key(|(_, asked)| std::cmp::Reverse(asked.bytes));
    for (name, Asked { calls, bytes }) in rows {
        writeln!(out, "{bytes:12} bytes {calls:9} calls  {name}")?;
    }
    Ok(())
}

/// Gives the callers their names, while it is known what their addresses mean.
fn settle(modules: &Modules, callers: &mut BTreeMap<Address, Asked>, shown: &mut BTreeMap<String, Asked>) {
    for (caller, Asked { calls, bytes }) in std::mem::take(callers) {
        // A file chooses the names in it.
        let name = modules.describe_caller(caller.0).to_string().escape_debug().to_string();
        let asked = shown.entry(name).or_default();
        asked.calls += calls;
        asked.bytes += bytes;
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let mut command = Command::new(args.next().ok_or("usage: allocations PROGRAM [ARGS…]")?);
    command.args(args);
    run(command, "malloc", &mut io::stdout())
}
