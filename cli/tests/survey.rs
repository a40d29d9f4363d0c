//! `ntrace survey`.

mod common;

use std::fs;

use common::{build, build_narrow, c_library, run, scratch, stderr, stdout};
use serde_json::Value;

fn survey(path: &str) -> Value {
    let output = run(&["survey", "--json", path]);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

fn sum(survey: &Value) -> u64 {
    let of = |key: &str| survey[key].as_u64().unwrap();
    of("emulated") + of("boosted") + of("trapped") + of("stepped") + of("refused")
}

#[test]
fn every_instruction_is_in_exactly_one_class() {
    let survey = survey("/bin/ls");
    let instructions = survey["instructions"].as_u64().unwrap();
    assert!(instructions > 10_000);
    assert_eq!(sum(&survey), instructions);
    assert!(survey["instructions_per_second"].as_u64().unwrap() > 0);
}

#[test]
fn every_instruction_can_have_a_jump_or_has_a_reason() {
    let survey = survey(&c_library());
    let of = |key: &str| survey[key].as_u64().unwrap();
    let reasons = survey["no_jumps"].as_object().unwrap();
    let without: u64 = reasons.values().map(|count| count.as_u64().unwrap()).sum();
    if cfg!(target_arch = "aarch64") {
        assert_eq!((of("jumps"), without), (0, 0));
        return;
    }
    assert_eq!(of("jumps") + without, of("instructions"));
    assert!(of("jumps") * 10 > of("instructions") * 8, "{survey}");
    assert!(of("jumps_at_starts") * 100 > of("starts") * 95);
    assert!(reasons.contains_key("a branch leads into the jump"));
}

#[test]
fn refusals_are_listed_each_with_address_and_reason() {
    let survey = survey(&c_library());
    let listed = survey["refusals"].as_array().unwrap();
    assert_eq!(listed.len() as u64, survey["refused"].as_u64().unwrap());
    assert!(listed.iter().all(|refusal| refusal["address"].is_string() && refusal["reason"].is_string()));
}

#[test]
fn a_program_without_symbols_is_surveyed_by_its_unwind_information() {
    let stripped = build("calls.c", &["-s"]);
    let survey = survey(stripped.to_str().unwrap());
    assert_eq!(survey["ranges"], "functions");
    assert_eq!(survey["undecodable_bytes"], 0);
}

#[test]
fn a_32_bit_program_is_read_as_32_bit_code() {
    let Some(program) = build_narrow("calls.c", &["-O1"]) else { return };
    let survey = survey(program.to_str().unwrap());
    assert_eq!(survey["arch"], "i386");
    assert_eq!(survey["undecodable_bytes"], 0);
}

#[test]
fn what_is_no_usable_elf_file_is_told_apart() {
    let ls = fs::read("/bin/ls").unwrap();
    let mut foreign = ls.clone();
    foreign[18..20].copy_from_slice(&22u16.to_le_bytes());
    let cases: [(&[u8], &str); 5] = [
        (b"#!/bin/sh\n", "not an ELF file"),
        (b"", "not an ELF file"),
        (&ls[..30], "corrupt ELF file"),
        (&ls[..1000], "corrupt ELF file"),
        (&foreign, "s390"),
    ];
    for (bytes, message) in cases {
        let file = scratch("broken");
        fs::write(&file, bytes).unwrap();
        let output = run(&["survey", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(125));
        assert!(stderr(&output).contains(message), "{message} in {}", stderr(&output));
    }
    let output = run(&["survey", "/no/such/file"]);
    assert!(stderr(&output).starts_with("ntrace: /no/such/file: No such file"), "{}", stderr(&output));
}

#[test]
fn every_instruction_is_passed_by_uprobes_or_listed_with_a_reason() {
    let output = run(&["survey", "--uprobes", "--json", &c_library()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let of = |key: &str| found[key].as_u64().unwrap();
    assert_eq!(of("passed") + of("refused") + of("wrong"), of("instructions"));
    let listed = found["listed"].as_array().unwrap();
    let number = |name: &str| listed.iter().filter(|one| one["uprobe"] == name).count() as u64;
    assert_eq!([number("refused"), number("wrong")], [of("refused"), of("wrong")]);
    let sum = |key: &str| found[key].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum::<u64>();
    assert_eq!([sum("refusals"), sum("deviations")], [of("refused"), of("wrong")]);
    // A C library enters the kernel.
    let (entering, kind) = if cfg!(target_arch = "aarch64") {
        ("enters the kernel", "refused")
    } else {
        ("address of its copy in rcx", "wrong")
    };
    let is_entry = |one: &&Value| one["reason"].as_str().unwrap().contains(entering) && one["uprobe"] == kind;
    assert!(listed.iter().filter(is_entry).count() > 100);
}

/// The number of instructions of each class in `programs/kernel.s`.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_module_and_a_linked_kernel_are_judged_by_their_tables() {
    let answers = [["-c"].as_slice(), &["-nostdlib", "-static", "-Wl,-e,traced"]].map(|flags| {
        let file = build("kernel.s", flags);
        let output = run(&["survey", "--kprobes", "--json", file.to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_str::<Value>(&stdout(&output)).unwrap()
    });
    for found in answers {
        let expected = [
            ("instructions", 23),
            ("traced", 2),
            ("emulated", 4),
            ("stepped", 11),
            ("refused", 5),
            ("wrong", 1),
            ("optimized", 4),
            ("boosted", 13),
        ];
        for (key, count) in expected {
            assert_eq!(found[key], count, "{key}: {found:#}");
        }
        let told = |key: &str, reason: &str| found[key][reason].as_u64();
        assert_eq!(told("refusals", "BUG or WARN"), Some(1));
        assert_eq!(told("refusals", "no kprobe may be set in the function"), Some(3));
        assert_eq!(
            told("not_optimized", "an instruction of the function may fault and continue within the jump"),
            Some(1)
        );
        assert_eq!(found["listed"][0]["place"], "patched+0x7");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_kernel_without_symbols_is_judged_by_its_instructions_alone() {
    let file = build("kernel.s", &["-nostdlib", "-static", "-Wl,-e,traced", "-s"]);
    let output = run(&["survey", "--kprobes", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("no symbols: instructions are judged alone"), "{}", stderr(&output));
    assert!(stdout(&output).contains("vzeroupper: taken for another instruction"), "{}", stdout(&output));
}

/// Puts extreme numbers in the place of the address, the offset and the size of each section, and of the value of each symbol.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_kernel_whose_sections_and_symbols_claim_too_much_is_answered() {
    for flags in [["-c"].as_slice(), &["-nostdlib", "-static", "-Wl,-e,traced"]] {
        let sound = fs::read(build("kernel.s", flags)).unwrap();
        let word = |at: usize| u64::from_le_bytes(sound[at..at + 8].try_into().unwrap()) as usize;
        let half = |at: usize| usize::from(u16::from_le_bytes([sound[at], sound[at + 1]]));
        let sections: Vec<usize> = (0..half(0x3c)).map(|number| word(0x28) + number * half(0x3a)).collect();
        let mut places: Vec<usize> = sections.iter().flat_map(|at| [at + 16, at + 24, at + 32]).collect();
        // SHT_SYMTAB
        for table in sections.iter().filter(|at| sound[**at + 4] == 2) {
            places.extend((8..word(table + 32)).step_by(24).map(|at| word(table + 24) + at));
        }
        let file = scratch("claims");
        for place in places {
            for value in [u64::MAX, u64::MAX - 8, 1 << 63] {
                let mut bytes = sound.clone();
                bytes[place..place + 8].copy_from_slice(&value.to_le_bytes());
                fs::write(&file, bytes).unwrap();
                let output = run(&["survey", "--kprobes", file.to_str().unwrap()]);
                let is_told = matches!(output.status.code(), Some(0 | 125));
                assert!(is_told, "{value:#x} at {place:#x}: {} {}", output.status, stderr(&output));
            }
        }
    }
}

#[test]
fn what_is_no_kernel_is_told_apart() {
    let output = run(&["survey", "--kprobes", "/etc/passwd"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).starts_with("ntrace: /etc/passwd: "), "{}", stderr(&output));
    let output = run(&["survey", "--kprobes", "--uprobes", "/bin/ls"]);
    assert!(!output.status.success());
}
