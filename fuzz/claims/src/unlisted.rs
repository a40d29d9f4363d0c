//! Reports unlisted deviations of peers, one of each class, so that one run finds many.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::corpus::line;
use crate::deviations::Disagreement;

/// The first word of the line on standard error.
pub const WORD: &str = "UNLISTED";

static TOLD: LazyLock<Mutex<BTreeMap<String, String>>> = LazyLock::new(Mutex::default);

/// Reports a deviation if it is the first of its class.
pub fn tell(bytes: &[u8], found: &Disagreement) {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    told.entry(found.class()).or_insert_with(|| {
        let text = format!("{}: {found}", line(bytes));
        eprintln!("{WORD} {text}");
        text
    });
}

/// All deviations that this process has reported.
pub fn told() -> Vec<String> {
    TOLD.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
}
