//! The processor that this program runs on.

use insn::x86::Vendor;

/// The vendor of this machine's processor; Intel if /proc/cpuinfo does not tell.
pub fn vendor() -> Vendor {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let id = text.lines().find_map(|line| line.strip_prefix("vendor_id")).unwrap_or_default();
    if ["AuthenticAMD", "HygonGenuine"].iter().any(|name| id.ends_with(name)) { Vendor::Amd } else { Vendor::Intel }
}
