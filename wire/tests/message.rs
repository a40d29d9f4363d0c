//! Messages: the layout, streams in pieces, what is no message.

mod buffer;

use buffer::{message, words};
use wire::{EncodeError, Error, Field, Header, Kind, MOST_WORDS, Split, encode, split};

const HEADER: Header = Header { code: 0x1234, flags: 1, tag: 77 };

#[test]
fn words_stand_in_place_and_blobs_behind_all_of_them() {
    let mut buffer = Vec::new();
    let fields = [Field::Word(1), Field::Blob(b"abc"), Field::Word(2), Field::Blob(b"defghij")];
    encode(&mut buffer, HEADER, &fields).unwrap();
    let expected = words(&[0x0001_1234_0000_0008, 77, 1, 3, 2, 7]);
    assert_eq!(buffer, [&expected[..], b"abcdefghij\0\0\0\0\0\0"].concat());
}

#[test]
fn blobs_that_fill_whole_words_are_not_padded() {
    let mut buffer = Vec::new();
    encode(&mut buffer, HEADER, &[Field::Blob(b"abc"), Field::Blob(b"defgh")]).unwrap();
    assert_eq!(buffer.len(), 8 * 5);
    let fields = message(&buffer).fields(&[Kind::Blob, Kind::Blob]);
    assert_eq!(fields, Ok([Field::Blob(b"abc"), Field::Blob(b"defgh")]));
}

#[test]
fn what_was_written_is_read_again_with_its_head() {
    let fields = [Field::Blob(b""), Field::Word(u64::MAX), Field::Blob(b"x")];
    let mut buffer = Vec::new();
    encode(&mut buffer, HEADER, &fields).unwrap();
    let message = message(&buffer);
    assert_eq!(message.header, HEADER);
    assert_eq!(message.fields(&[Kind::Blob, Kind::Word, Kind::Blob]), Ok(fields));
}

#[test]
fn a_stream_cut_anywhere_is_incomplete_and_tells_how_much_is_wanted() {
    let mut buffer = Vec::new();
    encode(&mut buffer, HEADER, &[Field::Blob(b"some bytes"), Field::Word(3)]).unwrap();
    for length in 0..buffer.len() {
        let wanted = if length < 8 { 16 } else { buffer.len() };
        assert_eq!(split(&buffer[..length]), Ok(Split::Incomplete(wanted)), "{length}");
    }
}

#[test]
fn messages_behind_one_another_are_told_apart() {
    let mut buffer = Vec::new();
    for tag in 0..3 {
        encode(&mut buffer, Header { tag, ..HEADER }, &[Field::Blob(&[1; 5][..tag as usize])]).unwrap();
    }
    let mut rest = &buffer[..];
    for tag in 0..3 {
        let Ok(Split::Message(message, behind)) = split(rest) else { panic!("{tag}") };
        assert_eq!(message.header.tag, tag);
        rest = behind;
    }
    assert_eq!(rest, b"");
}

#[test]
fn a_length_that_no_message_has_is_invalid_and_never_awaited() {
    for length in [0, 1, MOST_WORDS + 1, u32::MAX] {
        assert_eq!(split(&words(&[u64::from(length)])), Err(Error::Length(length)));
    }
    assert!(matches!(split(&words(&[u64::from(MOST_WORDS)])), Ok(Split::Incomplete(_))));
}

#[test]
fn fields_that_do_not_fit_their_kinds_are_told() {
    let two = words(&[4, 0, 8, 9]);
    assert_eq!(message(&two).fields(&[Kind::Word; 3]), Err(Error::Fields { declared: 3, words: 2 }));
    // A word too many stands where blobs would.
    assert_eq!(message(&two).fields(&[Kind::Word]), Err(Error::Blobs { bytes: 0, words: 1 }));
    assert_eq!(message(&two).fields(&[Kind::Blob]), Ok([Field::Blob(&9u64.to_ne_bytes())]));
    let long = words(&[4, 0, 9, 9]);
    assert_eq!(message(&long).fields(&[Kind::Blob]), Err(Error::Blobs { bytes: 9, words: 1 }));
    let overflowing = words(&[5, 0, 8, u64::MAX, 0]);
    let error = Error::Blobs { bytes: u64::MAX, words: 1 };
    assert_eq!(message(&overflowing).fields(&[Kind::Blob, Kind::Blob]), Err(error));
}

#[test]
fn a_message_longer_than_any_may_be_is_not_written() {
    let blob = vec![0; 8 * (MOST_WORDS as usize - 3)];
    let mut buffer = Vec::new();
    assert_eq!(encode(&mut buffer, HEADER, &[Field::Blob(&blob)]), Ok(()));
    assert_eq!(buffer.len(), 8 * MOST_WORDS as usize);
    let mut buffer = Vec::new();
    assert_eq!(encode(&mut buffer, HEADER, &[Field::Blob(&blob), Field::Blob(b"x")]), Err(EncodeError::TooLong));
    assert_eq!(buffer, b"");
}
