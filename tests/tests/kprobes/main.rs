//! What `stepping` says of kprobes is what the running kernel does.
//!
//! The kernel is asked through tracefs, which refuses functions that ftrace does not know, whatever kprobes would do: none of them is asked
//! about. Kprobes are enabled in code that nobody runs here, because QEMU before 8.1 may run old code where a kernel writes new one.
//!
//! Runs alone: it sets kprobes in the kernel of the whole machine.

#[cfg_attr(target_arch = "x86_64", path = "x86.rs")]
#[cfg_attr(target_arch = "aarch64", path = "arm64.rs")]
mod machine;
mod running;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{OpenOptions, read_to_string, write};
use std::io::{Error, Result, Write};
use std::path::Path;

use crossing::{Random, figure, skip};
use stepping::KprobeKernel;

use self::running::{Function, KPROBES, Running, TRACING};

/// What `stepping` says of a kprobe.
pub(crate) struct Forecast {
    /// The place that the kernel gives it.
    pub(crate) pc: u64,
    /// The error with which the kernel refuses it.
    pub(crate) refused: Option<i32>,
    /// Whether ftrace calls it.
    pub(crate) is_traced: bool,
    /// Whether a hit would go wrong.
    pub(crate) is_wrong: bool,
    /// Whether a jump takes the place of the trap.
    pub(crate) is_optimized: bool,
    /// The answer in words.
    pub(crate) told: String,
}

/// An address that the kernel is asked about.
struct Question {
    name: String,
    pc: u64,
    forecast: Forecast,
}

/// Of how many functions an address is asked about: of all, of those that nobody runs, and of those that a table names an address of.
struct Numbers {
    all: usize,
    quiet: usize,
    of_table: usize,
}

const SAMPLE: Numbers = Numbers { all: 150, quiet: 120, of_table: 12 };
/// The sample of a long run, for which `NTRACE_ENCODINGS` is `all`.
const LARGE: Numbers = Numbers { all: 4000, quiet: 4000, of_table: 400 };

/// How the names of functions begin that nobody calls in a virtual machine without such devices, after its start.
const QUIET: [&str; 14] = [
    "acpi_",
    "agp_",
    "amd_",
    "cpufreq_",
    "dmar_",
    "efi_",
    "hid_",
    "intel_",
    "iommu_",
    "pcie_",
    "pnp_",
    "regulator_",
    "usb_",
    "xen_",
];
/// The groups of events: kprobes that are enabled, and kprobes that are not.
const ENABLED: &str = "ntrace_enabled";
const DISABLED: &str = "ntrace_disabled";

/// Kprobes of this test. They are removed with this.
struct Probes;

impl Probes {
    /// Asks the kernel to set one.
    fn set(&self, group: &str, name: &str, pc: u64) -> Result<()> {
        self.write(&format!("p:{group}/{name} {pc:#x}\n"))
    }

    fn write(&self, line: &str) -> Result<()> {
        OpenOptions::new().append(true).open(format!("{TRACING}/kprobe_events"))?.write_all(line.as_bytes())
    }

    fn enable(&self, is_on: bool) -> Result<()> {
        let file = format!("{TRACING}/events/{ENABLED}/enable");
        if Path::new(&file).exists() { write(file, if is_on { "1" } else { "0" }) } else { Ok(()) }
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        let _ = self.enable(false);
        // A file that is opened anew forgets all events.
        let _ = write(format!("{TRACING}/kprobe_events"), "");
    }
}

/// The running kernel, or why it cannot be asked. Only a kernel that is the tests' alone is.
fn running() -> std::result::Result<Running, String> {
    if std::env::var_os("NTRACE_MACHINE").is_none() {
        return Err("only in a virtual machine of the tests: it removes all kprobes of tracefs".into());
    }
    let release = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if release.starts_with("6.") {
        return Err(format!("Linux {} has other rules", release.trim()));
    }
    let events = format!("{TRACING}/kprobe_events");
    OpenOptions::new().append(true).open(&events).map_err(|error| format!("{events}: {error}"))?;
    Running::read().map_err(|error| error.to_string())
}

/// The addresses to ask about, no two in a function.
fn questions(running: &Running, kernel: &KprobeKernel<'_>) -> Vec<Question> {
    let is_large = std::env::var_os("NTRACE_ENCODINGS").is_some_and(|value| value == "all");
    let numbers = if is_large { LARGE } else { SAMPLE };
    let mut rng = Random::new(1);
    let mut questions = Vec::new();
    let mut asked = HashSet::new();
    let mut ask = |place: u64, choose: &dyn Fn(&Function, &mut Random) -> u64, rng: &mut Random| {
        let function = running.function(place).expect("the kernel shows its code");
        if asked.insert(function.range.start) {
            let pc = choose(&function, rng);
            questions.push(Question { forecast: machine::forecast(&function, pc, kernel), name: function.name, pc });
        }
    };
    let functions = running.traced(&running.ftrace);
    let is_blacklisted = |place: &u64| {
        let next = running.blacklist.partition_point(|range| range.end <= *place);
        running.blacklist.get(next).is_some_and(|range| range.contains(place))
    };
    let blacklisted: Vec<u64> = functions.iter().copied().filter(is_blacklisted).collect();
    let patched: Vec<u64> = running.patched.iter().map(|range| range.start).collect();
    for table in [&patched, &blacklisted, &running.bugs, &running.fixups, &running.ftrace] {
        let places = running.traced(table);
        let number = if places.is_empty() { 0 } else { numbers.of_table };
        for _ in 0..number {
            let place = rng.one_of(&places);
            ask(place, &|_, _| place, &mut rng);
        }
    }
    // A jump in the place of the trap would cover what the table names.
    for table in [&patched, &running.fixups] {
        let mut places = running.traced(table);
        places.retain(|place| is_quiet(running.name(*place)));
        for _ in 0..if places.is_empty() { 0 } else { numbers.of_table } {
            let place = rng.one_of(&places);
            ask(place, &|function, _| before(function, place), &mut rng);
        }
    }
    let quiet: Vec<u64> = functions.iter().copied().filter(|place| is_quiet(running.name(*place))).collect();
    for (places, number) in [(&functions, numbers.all), (&quiet, numbers.quiet)] {
        for _ in 0..number {
            ask(rng.one_of(places), &any, &mut rng);
        }
    }
    questions
}

/// An address in a function: the first one, any one, or mostly that of an instruction.
fn any(function: &Function, rng: &mut Random) -> u64 {
    match rng.below(12) {
        0 => function.range.start,
        1 => function.range.start + rng.below(function.range.end - function.range.start),
        _ => rng.one_of(&machine::instructions(function)),
    }
}

/// The instruction before an address of a function, or its first one.
fn before(function: &Function, place: u64) -> u64 {
    machine::instructions(function).into_iter().take_while(|at| *at < place).last().unwrap_or(function.range.start)
}

fn is_quiet(name: &str) -> bool {
    QUIET.iter().any(|start| name.starts_with(start))
}

/// The flags of each kprobe that the kernel lists, by address.
fn listed() -> HashMap<u64, String> {
    let told = read_to_string(format!("{KPROBES}/list")).expect("a list");
    let address = |line: &str| u64::from_str_radix(line.split_whitespace().next()?, 16).ok();
    told.lines().filter_map(|line| Some((address(line)?, line.to_owned()))).collect()
}

#[test]
fn the_kernel_sets_refuses_and_optimises_kprobes_as_is_said() {
    const NAME: &str = "the_kernel_sets_refuses_and_optimises_kprobes_as_is_said";
    let running = match running() {
        Ok(running) => running,
        Err(reason) => return skip(NAME, reason),
    };
    let kernel = KprobeKernel {
        preemption: true,
        jump_tables: false,
        blacklist: &running.blacklist,
        patched: &running.patched,
        ftrace: &running.ftrace,
        bugs: &running.bugs,
        fixups: &running.fixups,
    };
    let questions = questions(&running, &kernel);
    let probes = Probes;
    let mut differences = Vec::new();
    let mut answers: BTreeMap<String, usize> = BTreeMap::new();
    let mut enabled = Vec::new();
    for (number, Question { name, pc, forecast }) in questions.iter().enumerate() {
        let is_quiet = is_quiet(name) && !forecast.is_traced && !forecast.is_wrong;
        let group = if is_quiet { ENABLED } else { DISABLED };
        let answer = probes.set(group, &format!("p{number}"), *pc).err();
        let answer = answer.as_ref().and_then(Error::raw_os_error);
        *answers.entry(answer.map_or("set".to_owned(), |error| format!("error {error}"))).or_default() += 1;
        if answer != forecast.refused {
            differences.push(format!("{name} {pc:#x}: {}, and the kernel answers {answer:?}", forecast.told));
        } else if answer.is_none() {
            enabled.push((is_quiet, name, forecast));
        }
    }
    probes.enable(true).expect("the events can be enabled");
    let listed = listed();
    for (is_quiet, name, forecast) in enabled {
        let flags = listed.get(&forecast.pc).map_or("", String::as_str);
        let is_traced = flags.contains("[FTRACE]");
        let is_optimized = flags.contains("[OPTIMIZED]");
        let key = if is_traced {
            "traced"
        } else if is_optimized {
            "optimized"
        } else if is_quiet {
            "not optimized"
        } else {
            "not enabled"
        };
        *answers.entry(key.to_owned()).or_default() += 1;
        if is_traced != forecast.is_traced || is_quiet && is_optimized != forecast.is_optimized || flags.is_empty() {
            differences.push(format!("{name} {:#x}: {}, and the kernel lists {flags:?}", forecast.pc, forecast.told));
        }
    }
    drop(probes);
    eprintln!("{} addresses: {answers:?}", questions.len());
    figure("kprobes", "answers", format_args!("{answers:?}"));
    assert!(differences.is_empty(), "{} of {} differ\n{}", differences.len(), questions.len(), differences.join("\n"));
    assert!(answers.contains_key("set") && answers.len() > 2, "{answers:?}");
}
