//! Signal handlers at single instructions, where jumps count these, or test conditions.

use crate::common::machine::SIGNAL_CASES;
use crate::common::signals::case_by;
use crate::{KINDS, auto};

#[test]
fn handlers_see_what_they_see_without_jumps() {
    for (name, functions) in SIGNAL_CASES {
        for kind in KINDS {
            case_by(|at| auto(kind(at)), name, functions);
        }
    }
}
