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

/// How often each instruction of a program's files was executed.
#[derive(Debug, Default)]
pub struct Recording {
    /// By file, and by address in that file as its ELF headers number it from the load base on.
    pub counts: HashMap<(PathBuf, u64), u64>,
}

impl Recording {
    /// All executions.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// Single-steps `program` from its first instruction to its end, with addresses not randomised.
///
/// A `rep` string instruction, which traps after each element, counts once as long as the program counter stands still.
///
/// # Panics
/// Where the program cannot be run or traced.
pub fn record(program: &str, arguments: &[&str]) -> Recording {
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
    let mut trace = Vec::new();
    let mut recorder = Recorder::spawn(command, Options::default(), &mut trace).expect("a program to record");
    recorder.run().expect("a recording to the program's end");
    drop(recorder);
    count(&trace)
}

/// Counts the instructions of a trace.
fn count(trace: &[u8]) -> Recording {
    let mut recording = Recording::default();
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
                if !stood && let Some(mapping) = places.find(|mapping| (mapping.start..mapping.end).contains(&step.pc))
                {
                    let file = PathBuf::from(OsStr::from_bytes(&mapping.path));
                    *recording.counts.entry((file, step.pc - mapping.base)).or_insert(0) += 1;
                }
            }
            _ => {}
        }
    }
    recording
}
