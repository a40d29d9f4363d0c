//! `cargo xtask truth`: the page of all that was tried against what knows better, from measured figures alone.

mod figures;
mod page;

use std::fs;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::run;
use figures::Figures;

/// Where measured figures are kept.
const FIGURES: &str = "docs/figures.txt";
/// The page made of them.
const PAGE: &str = "docs/truth.md";
/// The variable that names the file to which tests append what they measure.
const NOTED: &str = "NTRACE_FIGURES";

/// What to do.
#[derive(Args)]
pub(crate) struct Options {
    /// Long runs to make first; their figures replace the older ones
    #[arg(value_enum)]
    measure: Vec<Measurement>,
    /// Only say whether the page is the one that the figures give
    #[arg(long, conflicts_with = "measure")]
    check: bool,
}

/// A long run, named like the section of its figures.
#[derive(Clone, Copy, ValueEnum)]
enum Measurement {
    /// Encodings against the processor
    Oracle,
    /// Plans of all encodings against the processor
    Semantics,
    /// Whole programs with a site on every instruction
    Programs,
    /// The kernel's own tests under the command
    Selftests,
}

impl Measurement {
    fn section(self) -> &'static str {
        match self {
            Self::Oracle => "oracle",
            Self::Semantics => "semantics",
            Self::Programs => "programs",
            Self::Selftests => "selftests",
        }
    }

    /// The tests, and the variables that make their run a long one.
    fn run(self) -> (&'static str, &'static [(&'static str, &'static str)]) {
        match self {
            Self::Oracle => ("oracle", &[("NTRACE_ORACLE_ENCODINGS", "1000000")]),
            Self::Semantics => ("semantics", &[("NTRACE_SEMANTICS_CASES", "1000000")]),
            Self::Programs => ("whole_*", &[("NTRACE_WHOLE_PROGRAMS", "all")]),
            Self::Selftests => ("selftests", &[("NTRACE_WHOLE_PROGRAMS", "all")]),
        }
    }
}

/// Makes the long runs asked for, and the page.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut figures = Figures::parse(FIGURES, &read(FIGURES)?)?;
    for measurement in &options.measure {
        figures.replace(measurement.section(), &measure(*measurement)?)?;
        write(FIGURES, &figures.to_string())?;
    }
    if options.check { check() } else { write(PAGE, &page(&figures)?) }
}

/// Fails where the checked-in page is not the one that the figures give.
pub(crate) fn check() -> Result<()> {
    if read(PAGE)? != page(&Figures::parse(FIGURES, &read(FIGURES)?)?)? {
        bail!("{PAGE} is not what the figures give: run `cargo xtask truth`");
    }
    Ok(())
}

fn page(figures: &Figures) -> Result<String> {
    page::page(figures, &read("fuzz/hours.txt")?, &read("fuzz/deviations.txt")?, &read("tests/mutants.txt")?)
}

/// Runs the tests and gives what they noted.
fn measure(measurement: Measurement) -> Result<String> {
    let noted = run::root().join("target").join(format!("figures.{}", std::process::id()));
    fs::create_dir_all(run::root().join("target")).context("cannot make target")?;
    fs::write(&noted, "").with_context(|| format!("cannot write {}", noted.display()))?;
    let (test, variables) = measurement.run();
    let arguments = ["test", "--release", "--package", "crossing", "--test", test];
    run::run(run::cargo(&arguments).envs(variables.iter().copied()).env(NOTED, &noted))?;
    let text = fs::read_to_string(&noted).with_context(|| format!("cannot read {}", noted.display()))?;
    fs::remove_file(&noted).with_context(|| format!("cannot remove {}", noted.display()))?;
    Ok(text)
}

fn read(name: &str) -> Result<String> {
    fs::read_to_string(run::root().join(name)).with_context(|| format!("cannot read {name}"))
}

fn write(name: &str, text: &str) -> Result<()> {
    fs::write(run::root().join(name), text).with_context(|| format!("cannot write {name}"))
}
