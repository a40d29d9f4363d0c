//! What the kernel has allocated for itself.

use std::collections::BTreeMap;
use std::fs::{read_dir, read_to_string, write};

/// The fields of /proc/meminfo: slabs that cannot be reclaimed, vmalloc, areas of processors, stacks of threads.
const FIELDS: [&str; 4] = ["SUnreclaim", "VmallocUsed", "Percpu", "KernelStack"];

/// Bytes in use, by purpose. Memory that the allocator keeps for later use, or KASAN keeps to find uses after free, is
/// freed first.
///
/// # Panics
/// procfs or sysfs do not have the numbers, or the caller is not root.
#[must_use]
pub fn kernel_memory() -> BTreeMap<&'static str, i64> {
    for cache in read_dir("/sys/kernel/slab").expect("a kernel with SLUB").flatten() {
        // A cache may go meanwhile.
        let _ = write(cache.path().join("shrink"), "1");
    }
    let text = read_to_string("/proc/meminfo").expect("procfs");
    let line = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let kilobytes: i64 = rest.split_whitespace().next()?.parse().ok()?;
        let field = FIELDS.into_iter().find(|field| *field == name)?;
        Some((field, kilobytes << 10))
    };
    text.lines().filter_map(line).collect()
}
