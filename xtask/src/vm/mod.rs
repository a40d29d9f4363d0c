//! `cargo xtask vm`: virtual machines with a kernel of our configuration, to run what needs a kernel of another architecture
//! or one that may crash.

mod batch;
mod build;
mod compile;
mod cost;
mod fuzz;
mod job;
mod kernel;
mod loaded;
mod machine;
mod module;
mod root;
mod script;
mod shim;
mod source;

pub(crate) use batch::Batch;
pub(crate) use machine::{Arch, Boot, Kind, Machine};

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use build::{cargo, target_folder};
use clap::Subcommand;
use job::Job;
use kernel::Kernel;
use script::{quote, quoted};

use crate::suite::Suite;
use crate::{apt, run};

/// What to do with a virtual machine.
#[derive(Subcommand)]
pub(crate) enum Task {
    /// Build the kernel and unpack the programs, both kept in the user's cache directory, and build the module
    Build(Machine),
    /// A prompt in the machine, with ntrace and the module loaded; `exit` stops it
    Shell(Machine),
    /// Run a program of the host in the machine; serves as a runner of cargo
    Run {
        #[command(flatten)]
        machine: Machine,
        /// The program, by its path on the host
        program: PathBuf,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Build tests for the machine and run them all in one boot
    Test {
        #[command(flatten)]
        machine: Machine,
        /// Load the module first, and check that it can be unloaded afterwards
        #[arg(long)]
        module: bool,
        #[command(flatten)]
        boot: Boot,
        /// What `cargo test` selects by, such as `--package ntrace-ubp --test attach`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        selection: Vec<String>,
    },
    /// Measure what a hit of a breakpoint costs, in instructions of the machine and in time, and what the module costs others
    Cost {
        #[command(flatten)]
        machine: Machine,
        /// One of the measurements; all if it is left out
        #[arg(long, value_enum)]
        only: Option<cost::What>,
    },
    /// Write streams of commands, right and wrong, to the module, and trace processes that do their worst
    Fuzz {
        #[command(flatten)]
        machine: Machine,
        /// Seconds
        #[arg(long, default_value_t = 60)]
        time: u32,
        /// The beginning of the sequences of random numbers
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

impl Task {
    fn machine(&self) -> Machine {
        match self {
            Task::Build(machine) | Task::Shell(machine) | Task::Cost { machine, .. } => *machine,
            Task::Run { machine, .. } | Task::Test { machine, .. } | Task::Fuzz { machine, .. } => *machine,
        }
    }
}

/// Runs the task.
pub(crate) fn run(task: &Task) -> Result<()> {
    bring(task.machine())?;
    if let Some(reason) = obstacle(task.machine()) {
        bail!(reason);
    }
    match task {
        Task::Build(machine) => build(*machine),
        Task::Shell(machine) => shell(*machine),
        Task::Run { machine, program, arguments } => one(*machine, program, arguments),
        Task::Test { machine, module, boot, selection } => {
            let mut command = cargo(machine.arch, &["test"])?;
            let mut suite = Suite::build(command.args(selection))?;
            if suite.ntrace.is_none() {
                suite.ntrace = Some(ntrace(machine.arch)?.join("ntrace"));
            }
            let batch = Batch::of(*machine, suite).boot_as(*boot).by_hand();
            if *module { batch.with_module()?.run_by_hand() } else { batch.run_by_hand() }
        }
        Task::Cost { machine, only } => cost::run(*machine, *only),
        Task::Fuzz { machine, time, seed } => fuzz::run(*machine, *time, *seed),
    }
}

/// Downloads what needs the network. The rest can be built without it.
pub(crate) fn prepare() -> Result<()> {
    kernel::prepare()?;
    source::bring()?;
    source::bring_oldest()?;
    root::folder(Arch::Arm64)?;
    root::folder(Arch::X86_64).map(drop)
}

/// Unpacks what a kernel is built from.
pub(crate) fn bring(machine: Machine) -> Result<()> {
    match machine.kernel {
        Kind::Debian => source::bring(),
        Kind::Oldest => source::bring_oldest(),
        Kind::Debug => {
            apt::install(apt::FOR_DEBUG_KERNELS)?;
            source::bring_oldest()
        }
    }
}

/// Why there can be no such machine here.
pub(crate) fn obstacle(machine: Machine) -> Option<String> {
    kernel::obstacle(machine).or_else(|| machine::obstacle(machine.arch))
}

fn build(machine: Machine) -> Result<()> {
    let kernel = Kernel::of(machine)?;
    kernel.build()?;
    eprintln!("vm: kernel {}", kernel.image().display());
    eprintln!("vm: module {}", module::build(machine)?.display());
    eprintln!("vm: programs {}", root::folder(machine.arch)?.display());
    Ok(())
}

fn one(machine: Machine, program: &Path, arguments: &[String]) -> Result<()> {
    let program = program.canonicalize().with_context(|| format!("{}: no such program", program.display()))?;
    let here = std::env::current_dir().context("no current folder")?;
    let mut job = Job::new(machine)?;
    job.share(program.parent().unwrap_or(&program));
    job.share(&here);
    if let Some(folder) = temporary(&program).filter(|folder| folder.is_dir()) {
        job.share(&folder);
        job.scratch(folder);
    }
    let words: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
    let script = format!("cd {} && exec {} {}\n", quote(&here), quote(&program), words.join(" "));
    match job.run(&script)? {
        0 => Ok(()),
        // The command's status is the program's.
        status => {
            drop(job);
            std::process::exit(status)
        }
    }
}

/// Cargo's folder for what a test program writes: TARGET/tmp, for TARGET/PROFILE/deps/PROGRAM.
fn temporary(program: &Path) -> Option<PathBuf> {
    let deps = program.parent().filter(|folder| folder.ends_with("deps"))?;
    Some(deps.parent()?.parent()?.join("tmp"))
}

fn shell(machine: Machine) -> Result<()> {
    // The kernel's build uses one processor most of the time, so cargo runs beside it.
    let (ntrace, module) = std::thread::scope(|scope| {
        let module = scope.spawn(|| module::build(machine));
        (ntrace(machine.arch), module.join().unwrap_or_else(|_| Err(anyhow!("the build ended early"))))
    });
    let path = ntrace.map_or_else(
        |error| {
            eprintln!("vm: the prompt comes without ntrace: {error:#}");
            String::new()
        },
        |folder| format!("{}:", quote(&folder)),
    );
    let module = module.map_or_else(
        |error| {
            eprintln!("vm: the prompt comes without the module: {error:#}");
            String::new()
        },
        |path| format!("insmod {} mode=0666\n", quote(&path)),
    );
    let size = Command::new("stty").arg("size").stdin(Stdio::inherit()).output();
    let size = size.map(|output| String::from_utf8_lossy(&output.stdout).trim().replacen(' ', " cols ", 1));
    let size = size.ok().filter(|size| !size.is_empty()).map_or(String::new(), |size| format!("stty rows {size}\n"));
    let job = Job::new(machine)?;
    let greeting =
        "Linux $(uname -r) on $(uname -m), files of the host read-only at their paths. exit stops the machine.";
    let script = format!("{module}{size}export PATH={path}$PATH TERM=linux\necho \"{greeting}\"\nexec bash -i\n");
    job.interact(&script)
}

/// Whether the machine's kernel lies in the cache.
pub(crate) fn has_kernel(machine: Machine) -> bool {
    Kernel::of(machine).is_ok_and(|kernel| kernel.is_built())
}

/// The release of Debian's kernel for an architecture, which [`bring`] has unpacked.
pub(crate) fn release(arch: Arch) -> Result<String> {
    Ok(source::Distributed::of(arch)?.release)
}

/// Builds the module for a machine's kernel; returns its path.
pub(crate) fn build_module(machine: Machine) -> Result<PathBuf> {
    module::build(machine)
}

/// Builds the command for the machine; returns the folder where it lies.
fn ntrace(arch: Arch) -> Result<PathBuf> {
    run::run(&mut cargo(arch, &["build", "--package", "ntrace-cli"])?)?;
    Ok(target_folder(arch).join("debug"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_test_program_has_a_folder_to_write_in() {
        assert_eq!(temporary("/t/arm64/debug/deps/attach-1".as_ref()), Some("/t/arm64/tmp".into()));
        assert_eq!(temporary("/tmp/a/b/program".as_ref()), None);
    }
}
