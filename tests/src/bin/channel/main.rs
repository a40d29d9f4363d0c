//! What tests of the kernel module run beside themselves, in processes of their own: those that are traced, those that
//! trace, and the fuzzer of the channel.

mod arena;
mod debuggee;
mod debugger;
mod fuzz;
mod hostile;
mod pointers;
mod streams;
mod worker;

use std::process::ExitCode;
use std::str::FromStr;

const USAGE: &str = "channel debuggee | debugger PROCESS ADDRESS LENGTH SEED | writer DEBUGGEE ADDRESS
        | hostile SEED | arena SEED | worker SECONDS SEED | fuzz SECONDS SEED";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["debuggee"] => debuggee::run(),
        ["debugger", process, address, length, seed] => {
            debugger::run(number(process), number(address), number(length), number(seed))
        }
        ["writer", debuggee, address] => debugger::write(number(debuggee), number(address)),
        ["hostile", seed] => hostile::run(number(seed)),
        ["arena", seed] => arena::run(number(seed)),
        ["worker", seconds, seed] => worker::run(number(seconds), number(seed)),
        ["fuzz", seconds, seed] => return fuzz::run(number(seconds), number(seed)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn number<T: FromStr>(word: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("{word:?} is no number\n{USAGE}"))
}
