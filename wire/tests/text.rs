//! Numbers as text.

use wire::text::Text;

#[test]
fn digits_are_those_of_the_standard_library() {
    for number in [0, 9, 10, 0x1234, 0xabcd, u16::MAX] {
        let mut text = String::new();
        text.put_hexadecimal(number).unwrap();
        assert_eq!(text, format!("{number:04x}"));
    }
    for number in [0, 7, 10, 99, 100, 12_345, u64::MAX - 1, u64::MAX] {
        let mut text = String::new();
        text.put_decimal(number).unwrap();
        assert_eq!(text, number.to_string());
    }
}

#[test]
fn whatever_takes_formatted_text_takes_pieces() {
    let mut text = String::new();
    text.put("one ").unwrap();
    text.put("two").unwrap();
    assert_eq!(text, "one two");
}
