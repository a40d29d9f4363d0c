//! Signal handlers at single instructions, where jumps count these, or test conditions.

use crate::common::signals::case_by;
use crate::{KINDS, auto};

/// The cases of signals.c, and the functions whose instructions are counted.
const CASES: [(&str, &[&str]); 15] = [
    ("load", &["load_case"]),
    ("store", &["store_case"]),
    ("ud2", &["ud2_case"]),
    ("div", &["div_case"]),
    ("int3", &["int3_case"]),
    ("call", &["call_case"]),
    ("push", &["push_case"]),
    ("growcall", &["grow_by_call_case"]),
    ("trap", &["trap_flag_case"]),
    ("ignored", &["ignored_case", "ignored_later"]),
    ("grow", &["grow_case"]),
    ("nested", &["nested_case"]),
    ("restart", &["restart_case", "blocked_read"]),
    ("jump", &["jump_case"]),
    ("mask", &["mask_case"]),
];

#[test]
fn handlers_see_what_they_see_without_jumps() {
    for (name, functions) in CASES {
        for kind in KINDS {
            case_by(|at| auto(kind(at)), name, functions);
        }
    }
}
