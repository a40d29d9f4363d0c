//! What the packages have.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::files::{files, sources};
use crate::run;

/// What the command's package has beside its documents.
const OF_COMMAND: &[&str] = &[
    "usr/bin/ntrace",
    "usr/share/bash-completion/completions/ntrace",
    "usr/share/doc/ntrace/changelog.gz",
    "usr/share/doc/ntrace/copyright",
    "usr/share/doc/ntrace/crates.txt",
    "usr/share/fish/vendor_completions.d/ntrace.fish",
    "usr/share/man/man1/ntrace.1.gz",
    "usr/share/zsh/vendor-completions/_ntrace",
];
/// What the module's package has beside the module's source.
const OF_MODULE: &[&str] = &[
    "usr/include/ntrace.h",
    "usr/lib/modules-load.d/ntrace.conf",
    "usr/lib/sysusers.d/ntrace-dkms.conf",
    "usr/lib/udev/rules.d/60-ntrace.rules",
    "usr/share/doc/ntrace-dkms/README.Debian",
    "usr/share/doc/ntrace-dkms/SECURITY.md",
    "usr/share/doc/ntrace-dkms/copyright",
    "usr/share/man/man4/ntrace.4.gz",
];

/// Fails if a package lacks something, or has source that the checkout does not list.
pub(super) fn check(package: &Path) -> Result<()> {
    let list =
        run::output(Command::new("sh").args(["-c", "dpkg-deb --fsys-tarfile \"$1\" | tar --list", "sh"]).arg(package))?;
    let has: BTreeSet<&str> = list.lines().map(|line| line.trim_start_matches("./")).collect();
    let name = package.file_name().unwrap_or_default().to_string_lossy();
    let source = format!("usr/src/ntrace-{}/", env!("CARGO_PKG_VERSION"));
    let (fixed, mut wanted) = match name.starts_with("ntrace-dkms_") {
        true => (OF_MODULE, files(&sources()?)?),
        false => (OF_COMMAND, Vec::new()),
    };
    if !wanted.is_empty() {
        wanted.push("dkms.conf".into());
    }
    let wanted: BTreeSet<String> = wanted.iter().map(|file| source.clone() + file).collect();
    // debhelper compresses documents of more than 4 KiB.
    let is_there = |file: &str| has.contains(file) || has.contains(&*format!("{file}.gz"));
    let missing = fixed.iter().copied().chain(wanted.iter().map(String::as_str)).filter(|file| !is_there(file));
    let beyond =
        has.iter().filter(|file| file.starts_with(&source) && !file.ends_with('/') && !wanted.contains(**file));
    let wrong: Vec<String> = missing
        .map(|file| format!("no {file}"))
        .chain(beyond.map(|file| format!("{file}, which nothing lists")))
        .collect();
    if !wrong.is_empty() {
        bail!("{name} has {}", wrong.join("; "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Files of the module's room that no package has: they serve the build in the checkout.
    const APART: [&str; 1] = ["kmod/exports.txt"];

    fn read(file: &str) -> String {
        fs::read_to_string(run::root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// The words behind `start` in the line that begins with it, without quotation marks.
    fn words(file: &str, start: &str) -> Vec<String> {
        let text = read(file);
        let line =
            text.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_else(|| panic!("{file}: no {start}"));
        line.trim_matches('"').split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn every_file_of_the_module_is_in_its_package() {
        let mut packed: BTreeSet<String> = files(&sources().unwrap()).unwrap().into_iter().collect();
        packed.extend(read("debian/ntrace-dkms.dkms").lines().map(str::to_owned));
        packed.extend(
            read("debian/ntrace-dkms.install").lines().filter_map(|line| line.split(' ').next().map(str::to_owned)),
        );
        packed.extend(APART.map(str::to_owned));
        let lacking: Vec<String> =
            files(&["kmod".into()]).unwrap().into_iter().filter(|file| !packed.contains(file)).collect();
        assert!(lacking.is_empty(), "no package has {lacking:?}");
    }

    #[test]
    fn every_room_of_the_module_is_in_its_package() {
        let sources = sources().unwrap();
        for room in words("kmod/Kbuild", "rooms := ") {
            assert!(sources.contains(&format!("{room}/src")), "{room}");
        }
    }

    #[test]
    fn files_that_the_packages_name_exist() {
        for list in files(&["debian".into()]).unwrap() {
            if [".docs", ".manpages", ".install", ".dkms"].iter().any(|end| list.ends_with(end)) {
                for file in read(&list).lines().filter_map(|line| line.split(' ').next()) {
                    assert!(run::root().join(file).is_file(), "{list} names {file}");
                }
            }
        }
        assert!(sources().unwrap().iter().all(|path| run::root().join(path).exists()));
    }

    #[test]
    fn scripts_of_the_packages_are_scripts_of_the_shell() {
        let scripts = files(&["debian".into(), "kmod/dkms".into(), "tests/vm/package".into()]).unwrap();
        let scripts: Vec<String> = scripts.into_iter().filter(|file| read(file).starts_with("#!/bin/sh")).collect();
        assert!(scripts.len() >= 5, "{scripts:?}");
        for script in scripts {
            run::bytes(Command::new("sh").arg("-n").arg(run::root().join(&script))).unwrap();
        }
    }

    #[test]
    fn what_dkms_leaves_out_of_the_kernel_lies_at_the_top_of_its_source() {
        let script = read("kmod/dkms/build");
        let all: Vec<&str> = script.split("--exclude=").skip(1).collect();
        assert!(script.contains("--anchored") && all.len() >= 10, "{all:?}");
        assert!(all.iter().all(|pattern| pattern.starts_with("\"$top/")), "{all:?}");
    }

    #[test]
    fn dkms_builds_the_module_by_its_name_and_by_a_packed_script() {
        let name = words("kmod/dkms/dkms.conf", "BUILT_MODULE_NAME[0]=");
        assert!(read("kmod/src/main.rs").contains(&format!("    name: \"{}\",\n", name[0])));
        let script = &words("kmod/dkms/dkms.conf", "MAKE[0]=")[1];
        assert!(sources().unwrap().contains(script), "{script}");
        assert_eq!(words("kmod/dkms/dkms.conf", "BUILT_MODULE_LOCATION[0]="), ["module"]);
        assert!(read(script).contains("M=\"$here/module\""));
    }

    #[test]
    fn kconfig_dkms_and_the_script_ask_for_the_same_options() {
        let mut asked: BTreeSet<String> = words("kmod/dkms/build", "needed=").into_iter().collect();
        asked.extend(words("kmod/dkms/build", "refused=").iter().map(|option| format!("!{option}")));
        let of_dkms = words("kmod/dkms/dkms.conf", "BUILD_EXCLUSIVE_CONFIG=");
        assert_eq!(of_dkms.iter().map(|option| option.replace("CONFIG_", "")).collect::<BTreeSet<_>>(), asked);
        let kconfig = read("kmod/Kconfig");
        let depends = kconfig.lines().filter_map(|line| line.trim().strip_prefix("depends on "));
        assert_eq!(depends.filter(|line| !line.contains("||")).map(str::to_owned).collect::<BTreeSet<_>>(), asked);
    }

    #[test]
    fn the_packages_have_the_version_of_the_workspace() {
        assert!(read("debian/changelog").starts_with(concat!("ntrace (", env!("CARGO_PKG_VERSION"), ") ")));
    }
}
