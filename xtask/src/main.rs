//! Every task of the project: `cargo xtask NAME`. Nothing here is needed at run time.

mod api;
mod apt;
mod arm64;
mod assembler;
mod bench;
mod cache;
mod collectors;
mod corpus;
mod coverage;
mod cross;
mod deadline;
mod deb;
mod debian;
mod debuginfod;
mod fuzz;
mod generate;
mod host;
mod installed;
mod lanes;
mod ledger;
mod libfuzzer;
mod lint;
mod module;
mod module_tests;
mod mutants;
mod oldest;
mod packages;
mod program;
mod programs;
mod run;
mod seconds;
mod setup;
mod stamp;
mod suite;
mod targets;
mod test;
mod truth;
mod tutorial;
mod uapi;
mod unchanged;
mod viewer;
mod vm;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The tasks of the project", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install the system packages that tests need, where they are missing (Debian, by apt-get)
    Setup,
    /// Install what tests need and is missing, and run every lane; what could not run is named at the end
    Test(test::Options),
    /// Formatting, file sizes, circles of imports, prose, packages, clippy, documentation
    Lint,
    /// Regenerate the tables of insn from its data file
    Gen {
        /// Only say whether the checked-in tables are those that the data file gives
        #[arg(long)]
        check: bool,
    },
    /// Write the listings of what the libraries offer, docs/api
    Api,
    /// Measure side by side with peers (needs cmake for Zydis); without NAME every benchmark
    Bench(bench::Options),
    /// How much of insn and stepping the tests run; fails below 98 % of lines (installs cargo-llvm-cov)
    Coverage(coverage::Options),
    /// Does a test fail for every small change of insn and stepping? (installs cargo-mutants)
    Mutants(mutants::Options),
    /// Write the page of all that was tried, docs/truth.md, after the long runs asked for
    Truth(truth::Options),
    /// Fuzz the claims of fuzz/claims (needs a nightly toolchain; installs cargo-fuzz); without TARGET all of them
    Fuzz(fuzz::Options),
    /// Make Debian's packages of the command and of the module's source (installs debhelper and lintian)
    Package(deb::Options),
    /// Build ntrace.ko for a kernel of Debian's, out of packages alone
    Module(installed::Options),
    /// A virtual machine with a kernel of this checkout's configuration
    #[command(subcommand)]
    Vm(vm::Task),
    /// Run one lane of `test`, and leave a report for the process that runs several
    #[command(hide = true)]
    Lane { name: String },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Setup => setup::run(),
        Task::Test(options) => test::run(&options),
        Task::Lint => lint::run(),
        Task::Gen { check } => generate::run(check),
        Task::Api => api::write(),
        Task::Bench(options) => bench::run(&options),
        Task::Coverage(options) => coverage::run(&options),
        Task::Mutants(options) => mutants::run(&options),
        Task::Truth(options) => truth::run(&options),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Package(options) => deb::run(&options),
        Task::Module(options) => installed::build(&options),
        Task::Vm(task) => vm::run(&task),
        Task::Lane { name } => test::run_for_parent(&name),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
