//! File systems whose files are not stored bytes. Reading such a file may wait for an event, or have a side effect.

use nix::sys::statfs::FsType;

/// The file systems by `f_type` (statfs(2), linux/magic.h).
const PSEUDO: &[(u64, &str)] = &[
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x7363_6673, "securityfs"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x4341_5d53, "smackfs"),
    (0x5a3c_69f0, "apparmorfs"),
    (0xcafe_4a11, "bpf"),
    (0x6165_676c, "pstore"),
    (0xde5e_81e4, "efivarfs"),
    (0x6265_6570, "configfs"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x6c6f_6f70, "binderfs"),
    (0x1cd1, "devpts"),
    (0x0187, "autofs"),
    (0x1980_0202, "mqueue"),
    (0x6573_5543, "fusectl"),
    (0x0765_5821, "resctrl"),
    (0xabba_1974, "xenfs"),
    (0x6e73_6673, "nsfs"),
    (0x0904_1934, "anon_inodefs"),
];

/// Returns the name of a pseudo file system. `None` for a file system that stores files.
pub(super) fn name(kind: FsType) -> Option<&'static str> {
    // The kernel's numbers have 32 bits; the C library's type may be wider or signed.
    let kind = u64::from(kind.0 as u32);
    PSEUDO.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name)
}
