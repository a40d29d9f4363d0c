//! The marks of interrupted hits.

use loom::sync::Arc;
use loom::thread;
use models::lockfree::Marks;

#[test]
fn a_mark_is_taken_once() {
    loom::model(|| {
        let marks = Arc::new(Marks::<2>::new());
        marks.set(1);
        let other = thread::spawn({
            let marks = marks.clone();
            move || marks.take(1)
        });
        let here = marks.take(1);
        assert_ne!(here, other.join().unwrap());
        assert!(marks.is_empty());
    });
}

#[test]
fn a_thread_finds_its_mark_whatever_others_set_and_take() {
    // Three threads have too many orders for all of them.
    let mut few = loom::model::Builder::new();
    few.preemption_bound = Some(2);
    few.check(|| {
        let marks = Arc::new(Marks::<2>::new());
        let setter = thread::spawn({
            let marks = marks.clone();
            move || marks.set(1)
        });
        let taker = thread::spawn({
            let marks = marks.clone();
            move || marks.take(1)
        });
        marks.set(2);
        assert!(!marks.is_empty());
        assert!(marks.take(2));
        setter.join().unwrap();
        if !taker.join().unwrap() {
            assert!(marks.take(1));
        }
        assert!(marks.is_empty());
    });
}

#[test]
fn marks_that_replace_each_other_are_counted() {
    loom::model(|| {
        let marks = Arc::new(Marks::<1>::new());
        let other = thread::spawn({
            let marks = marks.clone();
            move || marks.set(1)
        });
        marks.set(2);
        other.join().unwrap();
        assert!(!marks.is_empty());
        assert_ne!(marks.take(1), marks.take(2));
        assert!(marks.is_empty());
    });
}
