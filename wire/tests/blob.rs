//! Blobs of words.

use wire::{Error, Failure, Status, blob};

#[test]
fn words_are_read_as_they_were_written() {
    let numbers = [0, 1, u64::MAX, 0x0123_4567_89ab_cdef];
    let bytes = blob::from_words(&numbers);
    assert_eq!(blob::words(&bytes).unwrap().collect::<Vec<_>>(), numbers);
    assert_eq!(blob::words(&bytes).unwrap().len(), numbers.len());
}

#[test]
fn a_count_with_all_bits_is_that_of_no_breakpoint() {
    let bytes = blob::from_words(&[0, u64::MAX, u64::MAX - 1]);
    assert_eq!(blob::counts(&bytes).unwrap().collect::<Vec<_>>(), [Some(0), None, Some(u64::MAX - 1)]);
}

#[test]
fn failures_have_index_status_and_detail_and_an_unknown_status_is_told() {
    let bytes = blob::from_words(&[7, Status::Value as u64, 3, 9, 0xffff, 0]);
    let read: Vec<_> = blob::failures(&bytes).unwrap().collect();
    assert_eq!(read.len(), 2);
    let first = read[0].unwrap();
    assert_eq!((first.index, first.failure), (7, Failure::new(Status::Value, 3)));
    assert_eq!(read[1], Err(Error::Status(0xffff)));
}

#[test]
fn mappings_have_four_words() {
    let bytes = blob::from_words(&[0x1000, 0x3000, 5, 0x40]);
    let mapping = blob::mappings(&bytes).unwrap().next().unwrap();
    assert_eq!((mapping.start, mapping.end, mapping.protection, mapping.offset), (0x1000, 0x3000, 5, 0x40));
}

#[test]
fn a_blob_of_parts_of_records_is_refused_with_both_lengths() {
    assert_eq!(blob::words(&[0; 9]).err(), Some(Error::Records { bytes: 9, record: 8 }));
    assert_eq!(blob::failures(&[0; 32]).err(), Some(Error::Records { bytes: 32, record: 24 }));
    assert_eq!(blob::mappings(&[0; 24]).err(), Some(Error::Records { bytes: 24, record: 32 }));
    assert_eq!(blob::mappings(&[]).map(|all| all.len()), Ok(0));
}
