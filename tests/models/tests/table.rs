//! The table of storages.

use loom::sync::{Arc, RwLock};
use loom::thread;
use models::lockfree::{Record, Table};

const ONE: Record = Record { base: 1, capacity: 2, owner: 3, code: 4, whole: 5, first: 6, span: 7 };
const OTHER: Record = Record { base: 11, capacity: 12, owner: 13, code: 14, whole: 15, first: 16, span: 17 };

fn records<const N: usize>(table: &Table<N>) -> Vec<Record> {
    table.notes().filter_map(|note| note.record()).collect()
}

#[test]
fn a_reader_finds_whole_records() {
    loom::model(|| {
        let table = Arc::new(Table::<2>::new());
        let writer = thread::spawn({
            let table = table.clone();
            move || assert!(table.add(&ONE) && table.add(&OTHER) && !table.has_room())
        });
        let found = records(&table);
        assert!(found.iter().all(|record| [ONE, OTHER].contains(record)), "{found:?}");
        writer.join().unwrap();
        assert_eq!(records(&table), [ONE, OTHER]);
    });
}

/// A place is used again, by a writer that waits for readers or not.
fn use_again(waits: bool) {
    loom::model(move || {
        let (table, readers) = (Arc::new(Table::<1>::new()), Arc::new(RwLock::new(())));
        assert!(table.add(&ONE));
        let writer = thread::spawn({
            let (table, readers) = (table.clone(), readers.clone());
            move || {
                table.forget(ONE.owner);
                if waits {
                    // Readers hold the lock as they are in a read-side section of RCU, so this waits for those that have begun.
                    drop(readers.write().unwrap());
                }
                assert!(table.add(&OTHER));
            }
        });
        let reader = readers.read().unwrap();
        let found = records(&table);
        assert!(found.iter().all(|record| [ONE, OTHER].contains(record)), "{found:?}");
        drop(reader);
        writer.join().unwrap();
        assert_eq!(records(&table), [OTHER]);
    });
}

#[test]
fn a_place_that_is_used_again_shows_one_record_or_the_other() {
    use_again(true);
}

#[test]
#[should_panic(expected = "Record")]
fn a_writer_that_does_not_wait_for_readers_mixes_records() {
    use_again(false);
}
