//! The kernel's x86 selftests tell the same with a site on every instruction of them and of their libraries.
#![cfg(target_arch = "x86_64")]

use std::process::Command;

use crossing::selftests::{SELFTESTS, Selftest, Sites, Source, deviation, difference, results};
use crossing::whole::{all, count_everything, hits_in_all, run_within};
use crossing::{figure, skip};

/// Bytes of output, of the counts too, after which a run is taken to have no end.
const LIMIT: u64 = 8_000_000;

#[test]
fn selftests_of_64_bits_tell_the_same_with_a_site_on_every_instruction() {
    run_all(64);
}

#[test]
fn selftests_of_32_bits_tell_the_same_with_a_site_on_every_instruction() {
    run_all(32);
}

/// Runs those of one width, the long ones where the variable `NTRACE_WHOLE_PROGRAMS` is `all`.
fn run_all(bits: u32) {
    let source = match Source::find() {
        Ok(source) => source,
        Err(reason) => return skip("selftests", reason),
    };
    let tests = SELFTESTS.iter().filter(|test| test.bits.contains(&bits) && (all() || !test.long));
    let differences: Vec<String> = tests.filter_map(|test| compare(&source, test, bits).err()).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

fn compare(source: &Source, test: &Selftest, bits: u32) -> Result<(), String> {
    let name = format!("{}_{bits}", test.name);
    let unable = |reason: &str| skip("selftests", format_args!("{name}: {reason}"));
    let program = match source.build(test, bits) {
        Ok(program) => program,
        Err(reason) => {
            unable(&reason);
            return Ok(());
        }
    };
    let (output, status) = run_within(LIMIT, &Command::new(&program));
    if !status.success() {
        let why = output.lines().find(|line| line.contains("[FAIL]")).unwrap_or_default();
        unable(&format!("alone it ends with {status} {why}"));
        return Ok(());
    }
    let counts = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut command = count_everything(counts.path());
    if test.sites == Sites::NotInChildren {
        command.arg("--no-follow");
    }
    let (traced_output, traced_status) = run_within(LIMIT, command.arg("--").arg(&program));
    figure("selftests", &name, format_args!("hits={}", hits_in_all(counts.path())));

    let (alone, traced) = difference(&results(&output), &results(&traced_output));
    let (mut allowed, mut expected) = ((&[][..], &[][..]), status.to_string());
    if let Some(deviation) = deviation(test.name, bits) {
        allowed = (deviation.alone, deviation.traced);
        expected = deviation.status.to_owned();
    }
    let known =
        |lines: &[String], allowed: &[&str]| lines.iter().all(|line| allowed.iter().any(|a| line.starts_with(a)));
    if known(&alone, allowed.0) && known(&traced, allowed.1) && traced_status.to_string().starts_with(&expected) {
        return Ok(());
    }
    Err(format!(
        "{name}: {traced_status}, not {expected}\nonly alone:  {alone:#?}\nonly traced: {traced:#?}\n{traced_output}"
    ))
}
