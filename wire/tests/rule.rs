//! Records of values and clauses, and filters.

use wire::blob;
use wire::rule::{Clause, Value, holds};
use wire::site::{Base, Relation};

fn values() -> Vec<Value> {
    let bases = [Base::Stack, Base::Zero, Base::Register(0), Base::Register(65535)];
    let sized = [1, 2, 4, 8].into_iter().flat_map(|size| {
        let memory = bases.map(|base| Value::Memory { base, offset: u64::MAX - 7, size });
        memory.into_iter().chain([Value::Register { number: 65535, size }])
    });
    sized.chain([Value::Hits, Value::Address, Value::Thread, Value::Debuggee]).collect()
}

fn clauses() -> Vec<Clause> {
    let all = values().into_iter().flat_map(|value| Relation::ALL.map(|relation| (value, relation)));
    all.zip([false, true].into_iter().cycle())
        .map(|((value, relation), begins)| Clause { begins, value, relation, right: 0x1234_5678_9abc_def0 })
        .collect()
}

#[test]
fn every_value_and_clause_is_read_as_it_was_written() {
    let words = |words: &[u64]| -> Vec<u8> { words.iter().flat_map(|word| word.to_ne_bytes()).collect() };
    let written: Vec<u64> = clauses().iter().flat_map(Clause::words).collect();
    let read: Vec<Clause> = blob::clauses(&words(&written)).unwrap().map(Option::unwrap).collect();
    assert_eq!(read, clauses());
    let written: Vec<u64> = values().iter().flat_map(|value| value.words()).collect();
    let read: Vec<Value> = blob::values(&words(&written)).unwrap().map(Option::unwrap).collect();
    assert_eq!(read, values());
    assert!(blob::clauses(&[0; 8]).is_err() && blob::values(&[0; 8]).is_err());
}

#[test]
fn every_other_bit_is_refused_or_means_something_else() {
    for clause in clauses() {
        let words = clause.words();
        for (number, bit) in (0..4).flat_map(|number| (0..64).map(move |bit| (number, bit))) {
            let mut changed = words;
            changed[number] ^= 1 << bit;
            if let Some(read) = Clause::from_words(changed) {
                assert_eq!(read.words(), changed, "no bit is lost");
                assert_ne!(read, clause);
            }
        }
    }
}

#[test]
fn a_clause_compares_as_many_bytes_as_its_value_has() {
    let is =
        |size, relation, right| Clause { begins: false, value: Value::Register { number: 0, size }, relation, right };
    let minus = |number: i64| number.wrapping_neg() as u64;
    for (clause, number, expected) in [
        (is(1, Relation::Equal, 0x34), 0x1234, true),
        (is(2, Relation::Equal, 0x34), 0x1234, false),
        (is(1, Relation::Less, 0), 0x12ff, true),
        (is(2, Relation::Less, 0), 0x12ff, false),
        (is(1, Relation::Less, minus(1)), 0xfe, true),
        (is(1, Relation::Less, minus(1)), 0xff, false),
        (is(4, Relation::NotLess, minus(3)), 0xffff_fffd, true),
        (is(8, Relation::Less, minus(1)), u64::MAX - 1, true),
        (is(8, Relation::Below, u64::MAX), u64::MAX - 1, true),
        (is(4, Relation::AnyOf, 1 << 32), u64::MAX, false),
    ] {
        assert_eq!(clause.holds(number), expected, "{clause:?} {number:#x}");
    }
}

#[test]
fn a_filter_holds_if_all_clauses_of_one_of_its_alternatives_do() {
    // A clause holds if its register is in the set; register 9 cannot be read.
    let set = |registers: &[u16]| registers.iter().fold(0, |set, register| set | 1 << register);
    let clause = |begins, number| Clause {
        begins,
        value: Value::Register { number, size: 8 },
        relation: Relation::Equal,
        right: 1,
    };
    let filter = |lists: &[&[u16]]| -> Vec<Clause> {
        let begins =
            |list: &&[u16]| list.iter().enumerate().map(|(at, number)| clause(at == 0, *number)).collect::<Vec<_>>();
        lists.iter().flat_map(begins).collect()
    };
    for (lists, holding, expected) in [
        (&[][..], set(&[]), true),
        (&[&[1][..]], set(&[1]), true),
        (&[&[1]], set(&[2]), false),
        (&[&[1, 2], &[3]], set(&[1]), false),
        (&[&[1, 2], &[3]], set(&[1, 2]), true),
        (&[&[1, 2], &[3]], set(&[2, 3]), true),
        (&[&[1, 2], &[3], &[4, 5]], set(&[4, 5]), true),
        (&[&[1, 2], &[3], &[4, 5]], set(&[1, 4]), false),
        (&[&[9], &[3]], set(&[3, 9]), true),
        (&[&[9, 3]], set(&[3, 9]), false),
    ] {
        let number = |value| match value {
            Value::Register { number: 9, .. } => None,
            Value::Register { number, .. } => Some(holding >> number & 1),
            _ => None,
        };
        assert_eq!(holds(&filter(lists), number), expected, "{lists:?} {holding:#b}");
    }
}
