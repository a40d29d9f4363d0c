//! Guarded pages: an indirect branch into one has to reach a landing pad (Documentation/arch/arm64/elf_hwcaps.rst, BTI).

use std::ops::Range;

use super::cpu;
use crate::Pid;
use crate::process::read_proc;

/// The protection bit of a guarded page (`PROT_BTI`, arch/arm64/include/uapi/asm/mman.h).
pub(in crate::ptrace) const GUARDED: i32 = 0x10;

/// The guarded mappings of a process, by address.
pub(in crate::ptrace) fn guarded(pid: Pid) -> Vec<Range<u64>> {
    if !cpu::landing_pads() {
        return Vec::new();
    }
    let smaps = read_proc(pid, "smaps").unwrap_or_default();
    parse(&String::from_utf8_lossy(&smaps))
}

/// Parses /proc/PID/smaps (proc_pid_smaps(5)): a line begins with a range, and one of the lines that follow has the flag.
fn parse(smaps: &str) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let mut current = 0..0;
    for line in smaps.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(first) = words.next() else { continue };
        if first == "VmFlags:" {
            if words.any(|flag| flag == "bt") {
                ranges.push(current.clone());
            }
        } else if let Some(range) = range(first) {
            current = range;
        }
    }
    ranges
}

fn range(word: &str) -> Option<Range<u64>> {
    let (start, end) = word.split_once('-')?;
    Some(u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn only_mappings_with_the_flag_are_guarded() {
        let smaps = "5500000000-5500001000 r-xp 00000000 00:12 34 /bin/a b\nSize: 4 kB\nVmFlags: rd ex mr mw me bt \n\
                     5500010000-5500011000 r--p 00000000 00:12 34 /bin/bt\nSize: 4 kB\nVmFlags: rd mr mw me \n";
        assert_eq!(parse(smaps), [0x55_0000_0000..0x55_0000_1000]);
    }
}
