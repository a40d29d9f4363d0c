//! Loading and unloading the module in the machine, and reading the kernel's log.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::job::HERE;
use super::machine::{Kind, Machine};
use super::script::quote;

/// Words of a kernel's log that tell of a fault: oopses, KASAN, lockdep, kmemleak, threads that hang.
const SPLATS: &[&str] = &[
    "BUG",
    "WARNING",
    "Oops",
    "general protection fault",
    "KASAN",
    "possible circular",
    "possible recursive",
    "INFO: trying to register",
    "INFO: task",
    "suspected memory leak",
    "kmemleak: Cannot",
    "kmemleak: Kernel memory leak detector disabled",
];

/// Lets kmemleak scan twice, because the first scan only notes what it finds. It passes over memory that is
/// younger than 5 s (mm/kmemleak.c).
const LEAKS: &str = "leaks() { sleep 6; echo scan >$kmemleak && echo scan >$kmemleak && cat $kmemleak; }
kmemleak=/sys/kernel/debug/kmemleak
";

/// The script with commands around it that load and unload the module.
pub(crate) fn around(machine: Machine, module: &Path, script: &str) -> String {
    // A test unloads the module, and loads it again.
    let insmod = format!("insmod {0} mode=0666 || exit 1\nexport NTRACE_MODULE={0}\n", quote(module));
    let log = format!("dmesg >{HERE}/log\n");
    if machine.kernel != Kind::Debug {
        return format!("{insmod}{script}rmmod ntrace && {log}");
    }
    // Leaks from before the module are the kernel's. Traces of leaks have the module's names only while it is loaded.
    let leaks = format!("leaks >>{HERE}/leaks || echo 'unreferenced object: not looked for' >>{HERE}/leaks\n");
    format!("{LEAKS}leaks >/dev/null; echo clear >$kmemleak\n{insmod}{script}{leaks}rmmod ntrace && {log}{leaks}")
}

/// Fails unless the module was unloaded and the kernel's log has no fault. `folder` is the job's.
pub(crate) fn verdict(machine: Machine, folder: &Path) -> Result<()> {
    let log = fs::read_to_string(folder.join("log")).context("the module could not be unloaded")?;
    let mut wrong = splats(&log);
    let leaks = if machine.kernel == Kind::Debug { fs::read_to_string(folder.join("leaks"))? } else { String::new() };
    if leaks.contains("unreferenced object") {
        wrong.extend(leaks.lines());
    }
    if !wrong.is_empty() {
        bail!("the kernel with the module says:\n{}", wrong.join("\n"));
    }
    Ok(())
}

/// Whether the line reports a process that a signal ends, in words that the kernel uses for its own faults too (arch/x86/kernel/traps.c,
/// `show_signal`).
fn is_of_a_process(line: &str) -> bool {
    line.contains("traps: ") && line.contains(" ip:") && line.contains(" sp:")
}

/// The lines of a log from the first fault to the last, and some after it for the trace.
fn splats(log: &str) -> Vec<&str> {
    const BEHIND: usize = 40;
    let lines: Vec<&str> = log.lines().collect();
    let is_splat = |line: &&str| SPLATS.iter().any(|splat| line.contains(splat)) && !is_of_a_process(line);
    let Some(first) = lines.iter().position(is_splat) else { return Vec::new() };
    let last = lines.iter().rposition(is_splat).unwrap_or(first);
    lines[first..lines.len().min(last + BEHIND)].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::Arch;

    #[test]
    fn memory_that_nobody_knows_is_told_of_a_debug_kernel_alone() {
        let folder = std::env::temp_dir().join(format!("ntrace-loaded-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("log"), "ntrace: loading out-of-tree module taints kernel.\n").unwrap();
        fs::write(folder.join("leaks"), "").unwrap();
        let debug = Arch::X86_64.machine(Kind::Debug);
        assert!(verdict(debug, &folder).is_ok());
        fs::write(folder.join("leaks"), "unreferenced object 0xffff888101a3e000 (size 512):\n  backtrace\n").unwrap();
        let told = verdict(debug, &folder).unwrap_err().to_string();
        assert!(told.ends_with("(size 512):\n  backtrace"), "{told}");
        assert!(verdict(Arch::X86_64.machine(Kind::Oldest), &folder).is_ok());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_splat_is_told_with_its_trace_and_a_kernel_that_begins_is_none() {
        let quiet = "kasan: KernelAddressSanitizer initialized\nkmemleak: Kernel memory leak detector initialized\n";
        assert_eq!(splats(quiet), [""; 0]);
        let wrong = "good\nWARNING: possible circular locking dependency detected\n trace\n";
        assert_eq!(splats(wrong), ["WARNING: possible circular locking dependency detected", " trace"]);
    }

    #[test]
    fn a_process_that_a_signal_ends_is_no_splat_and_a_fault_of_the_kernel_is() {
        let process =
            "[  6.5] traps: exe[969] general protection fault ip:401136 sp:7ffd0 error:0 in exe[401000+1000]\n";
        assert_eq!(splats(process), [""; 0]);
        let kernel =
            "[  6.6] Oops: general protection fault, probably for non-canonical address 0xdead: 0000 [#1] SMP\n";
        assert_eq!(splats(&format!("{process}{kernel}")), [kernel.trim_end()]);
    }
}
