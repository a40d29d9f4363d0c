//! `cargo xtask test`: every lane.

use anyhow::{Result, bail};
use clap::Args;

use crate::lanes::{self, Lane, Length, Place, no_obstacle};
use crate::{api, arm64, assembler, cross, fuzz, generate, host, lint, module, oldest, setup};

/// The lanes. Earlier lanes of a place run first, and the first that can begin. Virtual machines take longest: they follow each other from the
/// moment that the cache is filled, and all else runs beside them.
pub(crate) fn lanes() -> Vec<Lane> {
    let lane = |name, place, obstacle, step| Lane { name, place, needs_cache: true, obstacle, step };
    let mut lanes = vec![
        lane("generated tables", Place::Host, no_obstacle, |_| generate::lane()),
        lane("what lies in the cache", Place::Cache, no_obstacle, setup::fill_lane),
        lane("module on x86-64 (qemu-system)", Place::Processors, module::x86_obstacle, module::on_x86),
        lane("module on arm64 (qemu-system)", Place::Processors, module::arm64_obstacle, module::on_arm64),
        lane("arm64 (qemu-system)", Place::Processors, arm64::system_obstacle, arm64::system),
    ];
    lanes.extend(lint::lanes());
    // What only builds and reads this checkout begins at once.
    let waits = |lane: &Lane| lane.place == Place::Processors;
    lanes.iter_mut().for_each(|lane| lane.needs_cache = waits(lane));
    lanes.extend([
        lane("tests", Place::Host, no_obstacle, host::tests),
        lane("arm64 (qemu-user)", Place::Arm64, cross::user_obstacle, arm64::user),
        lane("fuzz", Place::Fuzzer, fuzz::obstacle, fuzz::short),
        lane("oldest Rust", Place::OldestRust, oldest::obstacle, |_| oldest::check()),
        lane("public interface", Place::Interface, api::obstacle, |_| api::check()),
        lane("newest assembler", Place::Host, assembler::obstacle, host::assembler),
        lane("documentation tests", Place::Host, no_obstacle, host::documentation),
        lane(
            "module under KASAN, lockdep and kmemleak (qemu-system)",
            Place::Processors,
            module::debug_obstacle,
            module::on_debug,
        ),
        lane(
            "module on the oldest kernel (qemu-system)",
            Place::Processors,
            module::oldest_obstacle,
            module::on_oldest,
        ),
    ]);
    lanes
}

/// Which lanes, and how much of them.
#[derive(Args)]
pub(crate) struct Options {
    /// Only the lanes whose names contain this
    #[arg(default_value = "")]
    lane: String,
    /// Everything, for hours: all kernels are built, all programs run, all soak tests take their time
    #[arg(long)]
    long: bool,
    /// Also the test programs that passed before and have not changed
    #[arg(long)]
    again: bool,
}

/// Installs what is missing and runs the lanes.
pub(crate) fn run(options: &Options) -> Result<()> {
    let part = &*options.lane;
    let chosen: Vec<Lane> = lanes().into_iter().filter(|lane| lane.name.contains(part)).collect();
    if chosen.is_empty() {
        bail!(
            "no lane is called {part}; there are: {}",
            lanes().iter().map(|lane| lane.name).collect::<Vec<_>>().join(", ")
        );
    }
    setup::install_for_tests()?;
    let has_lane = chosen.iter().any(|lane| lane.place == Place::Cache);
    if !has_lane && chosen.iter().any(|lane| lane.needs_cache) {
        if let Some(missing) = setup::fill()? {
            eprintln!("setup: what lies in the cache is not complete: {missing}");
        }
    }
    let length = match options {
        Options { long: true, .. } => Length::Long,
        Options { again: true, .. } => Length::Again,
        _ => Length::Ordinary,
    };
    lanes::run_all(&chosen, length)
}

/// Runs the lane of that name for another process of this program.
pub(crate) fn run_for_parent(name: &str) -> Result<()> {
    match lanes().iter().find(|lane| lane.name == name) {
        Some(lane) => lanes::run_for_parent(lane),
        None => bail!("no lane is called {name}"),
    }
}
