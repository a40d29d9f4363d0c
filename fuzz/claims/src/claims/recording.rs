use record::{Checker, Item, read};

/// Items that are looked at: few bytes may well tell of a loop that ran for hours.
const ITEMS: usize = 20_000;

/// Whatever a recording holds, reading and checking it ends, in its items or in what is wrong and where.
pub fn recording(data: &[u8]) {
    let Ok(mut reader) = read(data) else { return };
    let mut checker = Checker::new(reader.header());
    let mut ended = false;
    for _ in 0..ITEMS {
        let Some(item) = reader.next() else { break };
        assert!(!ended, "an item after an error");
        assert!(reader.offset() <= data.len() as u64);
        match item {
            Ok(item) => {
                if let Item::Step(step) = &item {
                    assert!(step.code.bytes().len() <= 15);
                }
                if let Some(mismatch) = checker.item(&item) {
                    assert!(!mismatch.to_string().is_empty());
                }
            }
            Err(error) => {
                assert!(error.offset <= data.len() as u64 && !error.to_string().is_empty());
                ended = true;
            }
        }
    }
}
