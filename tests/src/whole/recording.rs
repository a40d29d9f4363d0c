//! Hardware traces as `record` makes them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use record::{Item, Mapping, Next, Options, Recorder, read};

use super::command::ENVIRONMENT;
use crate::on_one_processor;

/// A file, and an address in it as its ELF headers number it from the load base on.
pub type Place = (PathBuf, u64);

/// How often each instruction of a program's files was executed.
pub type Counts = HashMap<Place, u64>;

/// Single-steps `program` and what it forks from the first instruction to the end, with addresses not randomised.
///
/// A `rep` string instruction, which traps after each element, counts once as long as the program counter stands still.
///
/// # Panics
/// Where the program cannot be run or traced.
pub fn record(program: &str, arguments: &[&str]) -> Counts {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(ENVIRONMENT);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: personality is async-signal-safe and takes a number.
    unsafe {
        command.pre_exec(|| match libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    let options = {
        let mut options = Options::default();
        options.follow_forks = true;
        options
    };
    let mut trace = Vec::new();
    on_one_processor(|| {
        let mut recorder = Recorder::spawn(command, options, &mut trace).expect("a program to record");
        recorder.run().expect("a recording to the program's end");
    });
    count(&trace)
}

/// Counts the instructions of a trace.
fn count(trace: &[u8]) -> Counts {
    let mut counts = Counts::new();
    let mut mappings: Vec<Mapping> = Vec::new();
    let mut standing = HashMap::new();
    for item in read(trace).expect("a trace") {
        match item.expect("a whole trace") {
            Item::Mapping(mapping) => {
                mappings.retain(|old| old.pid != mapping.pid || old.end <= mapping.start || mapping.end <= old.start);
                mappings.push(mapping);
            }
            Item::Step(step) => {
                let stood = standing.insert(step.tid, step.next == Next::At(step.pc)) == Some(true);
                let mut places = mappings.iter().filter(|mapping| mapping.pid == step.pid);
                if stood {
                    continue;
                }
                if let Some(mapping) = places.find(|mapping| (mapping.start..mapping.end).contains(&step.pc)) {
                    let file = PathBuf::from(OsStr::from_bytes(&mapping.path));
                    *counts.entry((file, step.pc - mapping.base)).or_insert(0) += 1;
                }
            }
            _ => {}
        }
    }
    counts
}
