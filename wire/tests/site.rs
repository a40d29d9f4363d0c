//! Records of breakpoints.

use wire::site::{Base, Condition, Memory, Relation, Site, Subject, action, records};
use wire::{Failure, Status};

fn all() -> Vec<Site> {
    let subjects = [Subject::Register(65535), Subject::Memory { address: 0x7000, size: 4 }, Subject::Hits];
    let rule = Condition { subject: Subject::Rule { taken: 7 }, relation: Relation::Equal, value: 5 };
    let conditions = subjects.into_iter().flat_map(|subject| {
        Relation::ALL.map(|relation| Some(Condition { subject, relation, value: 0x1234_5678_9abc_def0 }))
    });
    let bases = [Base::Stack, Base::Zero, Base::Register(0), Base::Register(65535)];
    let memories = bases.into_iter().zip([0, 8, -8i64 as u64, u64::MAX >> 1]);
    let memories = memories.map(|(base, offset)| Memory::new(base, offset, Memory::MOST)).cycle();
    let all = conditions.chain([None, Some(rule)]).zip(memories);
    all.map(|(condition, memory)| Site { address: 0x40_0000, actions: action::ALL, memory, condition }).collect()
}

#[test]
fn every_site_is_read_as_it_was_written() {
    let bytes: Vec<u8> = all().iter().flat_map(Site::bytes).collect();
    let records_of = records(&bytes).expect("whole records").iter();
    let read: Vec<Site> = records_of.map(|record| Site::from_bytes(record).expect("a site")).collect();
    assert_eq!(read, all());
    assert!(records(&bytes[1..]).is_none());
}

#[test]
fn every_other_bit_of_a_record_is_refused_with_its_word() {
    for site in all() {
        let words = site.words();
        for (number, bit) in (1..6).flat_map(|number| (0..64).map(move |bit| (number, bit))) {
            let mut changed = words;
            changed[number] ^= 1 << bit;
            match Site::from_words(&changed) {
                Ok(read) => assert_eq!(read.words(), changed, "no bit is lost"),
                Err(Failure { status, detail }) => {
                    assert_eq!(status, Status::Value);
                    assert!((1..6).contains(&detail), "{detail}");
                }
            }
        }
    }
    let wrong = |at: usize, value| {
        let mut words = Site { address: 1, actions: 0, memory: Memory::NONE, condition: None }.words();
        words[at] = value;
        Site::from_words(&words).map_err(|failure| failure.detail)
    };
    assert_eq!(wrong(1, 1 << 31), Err(1));
    assert_eq!(wrong(1, 4097 << 32), Err(1));
    assert_eq!((wrong(1, 1 << 16), wrong(1, 3 << 48), wrong(1, 1 << 48 | 1 << 16)), (Err(1), Err(1), Err(1)));
    assert_eq!((wrong(2, 5), wrong(2, 4 | 1 << 16), wrong(2, 4 | 1 << 32)), (Err(2), Err(2), Err(2)));
    assert_eq!(wrong(2, 3 | 8 << 16), Err(2));
    assert_eq!(wrong(2, 2 | 3 << 32), Err(2));
    assert_eq!((wrong(3, 1), wrong(4, 1)), (Err(3), Err(4)));
}

#[test]
fn relations_compare_without_a_sign_unless_they_say_so() {
    let table = [
        (Relation::Equal, 5, 5, true),
        (Relation::NotEqual, 5, 5, false),
        (Relation::Below, 5, u64::MAX, true),
        (Relation::Below, 5, 5, false),
        (Relation::NotBelow, u64::MAX, 5, true),
        (Relation::NotBelow, 5, 5, true),
        (Relation::AllOf, 0b1110, 0b0110, true),
        (Relation::AllOf, 0b1010, 0b0110, false),
        (Relation::AnyOf, 0b1010, 0b0110, true),
        (Relation::AnyOf, 0b1001, 0b0110, false),
        (Relation::Less, u64::MAX, 0, true),
        (Relation::Less, 5, 5, false),
        (Relation::NotLess, u64::MAX, 0, false),
        (Relation::NotLess, 5, 5, true),
    ];
    for (relation, first, second, expected) in table {
        assert_eq!(relation.holds(first, second), expected, "{relation:?} {first:#x} {second:#x}");
    }
}

#[test]
fn what_is_counted_in_a_record_is_hits_and_what_a_rule_took() {
    for site in all() {
        let words = site.words();
        let first = [9, words[1], words[2], words[3]];
        let taken = if site.rule() == Some(5) { 7 } else { u64::MAX };
        assert_eq!(Site::counts(&first), [9, taken], "{site:?}");
    }
    assert_eq!(Site::TAKEN, 3 * 8);
}
