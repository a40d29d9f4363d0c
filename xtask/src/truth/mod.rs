//! `cargo xtask truth`: the page of all comparisons with processors, manuals and other decoders, written from measured figures alone.

mod figures;
mod page;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::{assembler, run, stamp};
use figures::Figures;

/// Where measured figures are kept.
const FIGURES: &str = "docs/figures.txt";
/// The page made of them.
const PAGE: &str = "docs/truth.md";
/// The variable that names the file to which tests append what they measure.
const NOTED: &str = "NTRACE_FIGURES";

/// What to measure, or that the page is only compared.
#[derive(Args)]
pub(crate) struct Options {
    /// Long runs to make first; their figures replace the older ones
    #[arg(value_enum)]
    measure: Vec<Measurement>,
    /// Take the figures out of this file, which the tests noted in runs made before (`NTRACE_FIGURES`)
    #[arg(long, requires = "measure")]
    noted: Option<PathBuf>,
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
    /// Every form of every opcode against other decoders
    Peers,
    /// Encodings of all kinds against the newest assembler's decoder
    Assembler,
    /// Whole programs with a site on every instruction, beside hardware traces of them
    Traced,
    /// gdb's start beside its trace, which takes an hour
    TracedLongest,
    /// The same programs and longer ones beside their undisturbed runs
    Programs,
    /// Programs that take an hour each
    Longest,
    /// The kernel's own tests under the command
    Selftests,
}

impl Measurement {
    fn section(self) -> &'static str {
        match self {
            Self::Oracle => "oracle",
            Self::Semantics => "semantics",
            Self::Peers => "peers",
            Self::Assembler => "assembler",
            Self::Traced => "traced",
            Self::TracedLongest => "traced-longest",
            Self::Programs => "programs",
            Self::Longest => "longest",
            Self::Selftests => "selftests",
        }
    }

    /// The arguments by which `cargo test` selects the tests, and the variable with the value that makes their run a long one.
    fn run(self) -> (&'static [&'static str], (&'static str, &'static str)) {
        match self {
            Self::Oracle => (&["crossing", "--test", "oracle"], ("NTRACE_ORACLE_ENCODINGS", "1000000")),
            Self::Semantics => (&["crossing", "--test", "semantics"], ("NTRACE_SEMANTICS_CASES", "1000000")),
            Self::Peers => (&["claims", "--features", "zydis", "--test", "forms"], ("NTRACE_FORMS", "all")),
            Self::Assembler => (&["claims", "--test", "assembler"], ("NTRACE_ENCODINGS", "all")),
            Self::Traced => (&["crossing", "--test", "whole_counts"], ("NTRACE_WHOLE_PROGRAMS", "all")),
            Self::TracedLongest => (&["crossing", "--test", "whole_counts"], ("NTRACE_WHOLE_PROGRAMS", "longest")),
            Self::Programs => {
                (&["crossing", "--test", "whole_programs", "--test", "whole_storm"], ("NTRACE_WHOLE_PROGRAMS", "all"))
            }
            Self::Longest => (&["crossing", "--test", "whole_programs"], ("NTRACE_WHOLE_PROGRAMS", "longest")),
            Self::Selftests => (&["crossing", "--test", "selftests"], ("NTRACE_WHOLE_PROGRAMS", "all")),
        }
    }
}

/// Makes the long runs asked for, and the page.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut figures = Figures::parse(FIGURES, &read(FIGURES)?)?;
    for measurement in &options.measure {
        let stamp = format!("{} {}", stamp::stamp()?, stamp::processor()?);
        let noted = match &options.noted {
            Some(file) => fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?,
            None => measure(*measurement)?,
        };
        figures.replace(measurement.section(), &stamp, &noted)?;
        write(FIGURES, &figures.to_string())?;
    }
    if options.check { check() } else { write(PAGE, &page(&figures)?) }
}

/// Puts the lines `SECTION SUBJECT VALUE` that another task noted among the figures, and writes the page.
pub(crate) fn record(section: &str, noted: &str) -> Result<()> {
    let mut figures = Figures::parse(FIGURES, &read(FIGURES)?)?;
    figures.replace(section, &format!("{} {}", stamp::stamp()?, stamp::processor()?), noted)?;
    write(FIGURES, &figures.to_string())?;
    write(PAGE, &page(&figures)?)
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

/// Runs the tests, and returns the lines that they noted.
fn measure(measurement: Measurement) -> Result<String> {
    let noted = run::root().join("target").join(format!("figures.{}", std::process::id()));
    fs::create_dir_all(run::root().join("target")).context("cannot make target")?;
    fs::write(&noted, "").with_context(|| format!("cannot write {}", noted.display()))?;
    let (selection, (variable, value)) = measurement.run();
    let mut command = run::cargo(&["test", "--release", "--package"]);
    run::run(command.args(selection).env(variable, value).envs(assembler::variable()).env(NOTED, &noted))?;
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
