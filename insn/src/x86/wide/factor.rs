//! Tables of 256 bytes as sums of products of tables of 16 bytes: vectors look up nibbles.
//!
//! Each bit of a table is a matrix by the two nibbles of the index. A matrix of rank r over the field of two elements is a sum of r products of a
//! row and a column.

/// A product: `low` by the low nibble of the index, and `high` by the high one.
#[derive(Clone, Copy)]
pub(super) struct Term {
    pub(super) low: [u8; 16],
    pub(super) high: [u8; 16],
}

/// The terms whose exclusive or is the table. Fails to compile if more terms are needed.
pub(super) const fn terms<const TERMS: usize>(table: &[u8; 256]) -> [Term; TERMS] {
    let mut terms = [Term { low: [0; 16], high: [0; 16] }; TERMS];
    let mut bit = 0;
    while bit < 8 {
        let (mut rows, mut term) = (rows(table, bit), 0);
        let mut row = 0;
        while row < 16 {
            let pivot = rows[row];
            if pivot == 0 {
                row += 1;
                continue;
            }
            // The term takes the pivot's lowest column away from all rows.
            let column = pivot & pivot.wrapping_neg();
            let mut nibble = 0;
            while nibble < 16 {
                terms[term].low[nibble] |= ((pivot >> nibble & 1) as u8) << bit;
                if rows[nibble] & column != 0 {
                    rows[nibble] ^= pivot;
                    terms[term].high[nibble] |= 1 << bit;
                }
                nibble += 1;
            }
            term += 1;
        }
        bit += 1;
    }
    terms
}

/// One bit of all entries: a row for each high nibble, with a bit for each low one.
const fn rows(table: &[u8; 256], bit: u32) -> [u16; 16] {
    let (mut rows, mut at) = ([0; 16], 0);
    while at < 256 {
        rows[at >> 4] |= ((table[at] >> bit & 1) as u16) << (at & 15);
        at += 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::terms;

    #[test]
    fn the_products_add_up_to_the_table() {
        let mut state = 1_u32;
        let table: [u8; 256] = core::array::from_fn(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        // A random matrix has nearly full rank.
        let terms = terms::<16>(&table);
        for (at, value) in table.iter().enumerate() {
            let sum = terms.iter().fold(0, |sum, term| sum ^ term.low[at & 15] & term.high[at >> 4]);
            assert_eq!(sum, *value, "{at}");
        }
    }
}
