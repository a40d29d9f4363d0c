//! Real programs with a site on every instruction, libraries and the loader included, do what they do undisturbed.
#![cfg(target_arch = "x86_64")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crossing::skip;
use crossing::whole::{ntrace, record, run, run_silently};

/// Programs of any Debian with an output that depends on nothing but their arguments; they run a few 100,000 instructions each.
const SHORT: &[&[&str]] = &[
    &["/bin/true"],
    &["/bin/false"],
    &["/bin/echo", "one", "two"],
    &["/bin/ls", "/usr/lib/os-release", "/nowhere"],
    &["/bin/sh", "-c", "for i in 1 2; do /bin/echo $i | /bin/cat; done; exit 7"],
    &["/bin/sh", "-c", "trap 'echo caught' USR1; kill -USR1 $$; (exit 3); echo $?; kill -TERM $$"],
];

/// Longer ones, run where the variable `NTRACE_WHOLE_PROGRAMS` is `all`.
const LONG: &[&[&str]] = &[
    &["/usr/bin/sort", "/etc/services"],
    &["/usr/bin/sha256sum", "/etc/services"],
    &["/bin/grep", "-c", "tcp", "/etc/services"],
    &["/usr/bin/awk", "{ n += NF } END { print n }", "/etc/passwd"],
    &["/bin/gzip", "-c", "/etc/passwd"],
    &["/bin/bash", "-c", "trap 'echo caught' USR1; kill -USR1 $$; (exit 3); echo $?; kill -TERM $$"],
    &[
        "/usr/bin/perl",
        "-e",
        "$SIG{ALRM} = sub { print qq(alarm\\n) }; kill ALRM => $$; print join q( ), map { $_ ** 2 } 1 .. 9",
    ],
    &["/usr/bin/git", "--version"],
    &["/usr/bin/openssl", "dgst", "-sha256", "/etc/services"],
    &["/usr/bin/python3", "-I", "-S", "-c", "print(sum(i * i for i in range(1000)))"],
    &["/usr/bin/xz", "-c", "/etc/passwd"],
];

#[test]
fn output_and_status_equal_the_undisturbed_run_with_a_site_on_every_instruction() {
    let all = std::env::var_os("NTRACE_WHOLE_PROGRAMS").is_some_and(|value| value == "all");
    let mut differences = Vec::new();
    for words in SHORT.iter().chain(if all { LONG } else { &[] }) {
        let [program, arguments @ ..] = words else { continue };
        if !Path::new(program).exists() {
            skip("whole_programs", format_args!("{program} is not installed"));
            continue;
        }
        let alone = run(Command::new(program).args(arguments));
        let traced = run(Command::new(ntrace())
            .args(["count", "--every-instruction", "-o", "/dev/null", "--", program])
            .args(arguments));
        if alone != traced {
            differences.push(format!("{words:?}\nalone:  {alone:?}\ntraced: {traced:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[test]
fn hits_equal_the_instructions_that_a_single_step_run_meets() {
    let arguments = ["a", "b"];
    let recording = record("/bin/echo", &arguments);
    assert!(recording.total() > 10_000, "only {} instructions recorded", recording.total());
    let counts = tempfile::NamedTempFile::new().expect("a temporary file");
    run_silently(
        Command::new("setarch")
            .args(["x86_64", "-R"])
            .arg(ntrace())
            .args(["count", "--every-instruction", "--format", "json", "-o"])
            .arg(counts.path())
            .args(["--", "/bin/echo"])
            .args(arguments),
    );
    let text = std::fs::read_to_string(counts.path()).expect("the counts");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let hits: HashMap<(PathBuf, u64), u64> = json["counts"]
        .as_array()
        .expect("counts")
        .iter()
        .map(|row| {
            let module = PathBuf::from(row["module"].as_str().expect("a module"));
            let address = row["address"].as_str().expect("an address").trim_start_matches("0x");
            let address = u64::from_str_radix(address, 16).expect("hexadecimal");
            ((module, address), row["hits"].as_u64().expect("hits"))
        })
        .collect();
    let mut differences: Vec<String> = recording
        .counts
        .iter()
        .filter(|(place, count)| hits.get(place) != Some(count))
        .map(|((file, address), count)| {
            let hit = hits.get(&(file.clone(), *address)).copied().unwrap_or(0);
            format!("{}+{address:#x}: {count} executions, {hit} hits", file.display())
        })
        .collect();
    differences.extend(
        hits.iter()
            .filter(|(place, _)| !recording.counts.contains_key(place))
            .map(|((file, address), hit)| format!("{}+{address:#x}: no execution, {hit} hits", file.display())),
    );
    differences.sort_unstable();
    assert!(differences.is_empty(), "{} places differ:\n{}", differences.len(), differences.join("\n"));
}
