//! A process whose threads count, so that others see whether they run.

use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const THREADS: usize = 4;
/// Bytes that are there to be written by others.
const SCRATCH: usize = 16 << 12;

static COUNTS: [AtomicU64; THREADS] = [const { AtomicU64::new(0) }; THREADS];
static SCRATCHED: [AtomicU64; SCRATCH / 8] = [const { AtomicU64::new(0) }; SCRATCH / 8];

/// Tells `counts ADDRESS THREADS scratch ADDRESS LENGTH`, and lives until its input ends.
pub(crate) fn run() {
    for count in &COUNTS {
        std::thread::spawn(move || {
            loop {
                count.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_micros(200));
            }
        });
    }
    println!("counts {} {THREADS} scratch {} {SCRATCH}", COUNTS.as_ptr() as u64, SCRATCHED.as_ptr() as u64);
    // An error ends it as well.
    let _ = std::io::stdin().read(&mut [0]);
}
