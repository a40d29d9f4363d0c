//! Workers side by side, each in a namespace of processes of its own: what is attached by chance is theirs.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode, Stdio};

/// Half of them are root's.
const WORKERS: u64 = 4;

/// Lets the workers write for `seconds`; adds up the numbers that they print.
pub(crate) fn run(seconds: u64, seed: u64) -> ExitCode {
    let workers: Vec<_> = (0..WORKERS)
        .map(|number| {
            let mut program = Command::new("unshare");
            program
                .args(["--pid", "--fork", "--kill-child"])
                .arg(std::env::current_exe().expect("a path"))
                .arg("worker");
            let seed = seed.wrapping_mul(WORKERS).wrapping_add(number);
            program.arg(seconds.to_string()).arg(seed.to_string()).stdout(Stdio::piped());
            (seed, program.spawn().expect("it starts"))
        })
        .collect();
    let mut numbers: BTreeMap<String, u64> = BTreeMap::new();
    let mut code = ExitCode::SUCCESS;
    for (seed, worker) in workers {
        let output = worker.wait_with_output().expect("it was started");
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            if let Some((number, name)) = line.split_once(' ') {
                *numbers.entry(name.to_owned()).or_default() += number.parse::<u64>().unwrap_or_default();
            }
        }
        if !output.status.success() {
            println!("worker {seed}: {}", output.status);
            code = ExitCode::FAILURE;
        }
    }
    for (name, number) in numbers {
        println!("fuzz: {number:10} {name}");
    }
    code
}
