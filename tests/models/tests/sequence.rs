//! The number of changes, and the look of a hit at a site: the breakpoint instruction and its entry, which are 1 where there is a breakpoint.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering::Relaxed};
use loom::thread;
use models::lockfree::Sequence;

struct Site {
    changes: Sequence,
    instruction: AtomicU32,
    entry: AtomicU32,
}

impl Site {
    fn new(breakpoint: u32) -> Arc<Site> {
        let (instruction, entry) = (AtomicU32::new(breakpoint), AtomicU32::new(breakpoint));
        Arc::new(Site { changes: Sequence::new(), instruction, entry })
    }

    /// Whether a hit takes the breakpoint for somebody else's, as `ntrace_hit` and `ntrace_hit_sleeping` decide it.
    fn is_taken_for_foreign(&self) -> bool {
        let before = self.changes.get();
        let is_missing = self.entry.load(Relaxed) == 0 && self.instruction.load(Relaxed) == 1;
        is_missing && before % 2 == 0 && self.changes.get() == before
    }
}

#[test]
fn a_hit_of_a_breakpoint_that_is_being_inserted_is_never_foreign() {
    loom::model(|| {
        let site = Site::new(0);
        let writer = thread::spawn({
            let site = site.clone();
            move || {
                site.changes.count();
                site.entry.store(1, Relaxed);
                site.instruction.store(1, Relaxed);
                site.changes.count();
            }
        });
        if site.instruction.load(Relaxed) == 1 {
            assert!(!site.is_taken_for_foreign());
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_hit_of_a_breakpoint_that_is_being_removed_is_never_foreign() {
    loom::model(|| {
        let site = Site::new(1);
        let writer = thread::spawn({
            let site = site.clone();
            move || {
                site.changes.count();
                site.instruction.store(0, Relaxed);
                site.entry.store(0, Relaxed);
                site.changes.count();
            }
        });
        if site.instruction.load(Relaxed) == 1 {
            assert!(!site.is_taken_for_foreign());
        }
        writer.join().unwrap();
    });
}
