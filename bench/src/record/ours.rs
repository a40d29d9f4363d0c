//! This project's recorder, writing to a file.

use std::fs::File;
use std::io::BufWriter;
use std::time::Instant;

use ::record::{Ended, Options, Recorder};
use anyhow::{Result, ensure};

use super::program::Program;
use super::recorded::Recorded;

pub(super) fn without_registers(program: &Program, rounds: usize) -> Result<Recorded> {
    record(program, rounds, false)
}

pub(super) fn with_registers(program: &Program, rounds: usize) -> Result<Recorded> {
    record(program, rounds, true)
}

fn record(program: &Program, rounds: usize, registers: bool) -> Result<Recorded> {
    let options = {
        let mut options = Options::default();
        options.registers = registers;
        options
    };
    let start = Instant::now();
    let out = BufWriter::new(File::create(program.file("trace"))?);
    let mut recorder = Recorder::spawn(program.command(rounds), options, out)?;
    let ended = recorder.run()?;
    ensure!(ended == Some(Ended::Exited(0)), "it ended by {ended:?}");
    let (instructions, bytes) = (recorder.steps(), recorder.bytes());
    drop(recorder);
    Ok(Recorded { time: start.elapsed(), instructions, bytes: Some(bytes) })
}
