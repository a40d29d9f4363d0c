//! The processor that this runs on.

use insn::x86::Vendor;

use crate::args;

/// The vendor that was asked for, else this machine's (Intel where that cannot be told).
pub(crate) fn vendor(wanted: Option<args::Vendor>) -> Vendor {
    match wanted {
        Some(args::Vendor::Intel) => Vendor::Intel,
        Some(args::Vendor::Amd) => Vendor::Amd,
        None => this_machine(),
    }
}

fn this_machine() -> Vendor {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let id = text.lines().find_map(|line| line.strip_prefix("vendor_id")).unwrap_or_default();
    if ["AuthenticAMD", "HygonGenuine"].iter().any(|name| id.ends_with(name)) { Vendor::Amd } else { Vendor::Intel }
}
