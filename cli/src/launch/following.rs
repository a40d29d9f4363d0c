//! Finds out whom `--follow` means.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, statfs};
use nix::unistd::{User as Account, getuid};
use ubp::Follow;

use crate::args::following::{Following, User};
use crate::failure::{Failure, Result};
use crate::output::shown;

/// Where control groups of version 2 lie if a path does not say it.
const ROOTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// The rule for the kernel.
///
/// # Errors
/// There is no such user, control group or process.
pub(crate) fn follow(following: &Following) -> Result<Follow> {
    let mut follow = Follow::new();
    if let Some(pattern) = &following.program {
        follow = follow.program(pattern.as_str());
    }
    if let Some(user) = &following.user {
        follow = follow.user(number_of(user)?);
    }
    if let Some(path) = &following.group {
        follow = follow.group(group(path)?);
    }
    if let Some(pid) = following.namespace {
        let namespace = fs::metadata(format!("/proc/{pid}/ns/pid"));
        let unseen = |error| {
            Failure::usage(format!("--follow pidns:{pid}: the namespace of this process cannot be seen: {error}"))
        };
        follow = follow.namespace(namespace.map_err(unseen)?.ino());
    }
    Ok(follow)
}

fn number_of(user: &User) -> Result<u32> {
    let name = match user {
        User::Own => return Ok(getuid().as_raw()),
        User::Named(name) => name,
    };
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    match Account::from_name(name) {
        Ok(Some(account)) => Ok(account.uid.as_raw()),
        _ => Err(Failure::usage(format!("--follow user:{name}: there is no user of this name"))),
    }
}

/// The inode number of the folder of a control group.
fn group(path: &Path) -> Result<u64> {
    let below = path.strip_prefix("/").unwrap_or(path);
    let candidates = [path.to_path_buf()].into_iter().chain(ROOTS.map(|root| Path::new(root).join(below)));
    let is_group = |path: &Path| statfs(path).is_ok_and(|found| found.filesystem_type() == CGROUP2_SUPER_MAGIC);
    let found = candidates.into_iter().find(|path| path.is_dir() && is_group(path));
    let found = found.and_then(|path| fs::metadata(path).ok());
    found.map(|folder| folder.ino()).ok_or_else(|| {
        let what = "there is no such control group of version 2; /proc/PID/cgroup names that of a process behind '0::'";
        Failure::usage(format!("--follow cgroup:{}: {what}", shown(path)))
    })
}
