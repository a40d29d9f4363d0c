//! A time limit for a whole run. At the limit no further lane or test program begins. The summary names those that are left as skipped.

use std::time::{SystemTime, UNIX_EPOCH};

/// The variable that has the moment, in seconds since 1970. Without it a run has none.
const UNTIL: &str = "NTRACE_UNTIL";
/// The seconds that a program may run on behind the moment.
const GRACE: u64 = 600;

/// Why something did not begin.
pub(crate) const OVER: &str = "no time was left (NTRACE_UNTIL)";

/// The seconds that are left, 0 behind the moment. `None`: there is no such moment.
pub(crate) fn seconds_left() -> Option<u64> {
    let until = std::env::var(UNTIL).ok()?.parse::<u64>().ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    Some(until.saturating_sub(now))
}

/// Whether nothing more may begin.
pub(crate) fn is_over() -> bool {
    seconds_left() == Some(0)
}

/// The seconds that a program may take, of the `most` that it may take otherwise.
pub(crate) fn limit(most: u32) -> u32 {
    shortened(most, seconds_left())
}

fn shortened(most: u32, left: Option<u64>) -> u32 {
    left.and_then(|left| u32::try_from(left.saturating_add(GRACE)).ok()).map_or(most, |left| most.min(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_take_what_is_left_and_some_minutes() {
        assert_eq!(shortened(1800, None), 1800);
        assert_eq!(shortened(1800, Some(900)), 1500);
        assert_eq!(shortened(600, Some(900)), 600);
        assert_eq!(shortened(1800, Some(0)), 600);
        assert_eq!(shortened(1800, Some(u64::MAX)), 1800);
    }
}
