//! Times in a form that is easy to compare by eye.

use std::time::Duration;

/// A time with three digits or more, and its unit.
pub(crate) fn duration(time: Duration) -> String {
    let nanoseconds = time.as_nanos();
    // Each unit, and the first time that the next one shows: the last that rounds to less than 1000.
    for (unit, size, end) in [("ns", 1, 1_000), ("µs", 1_000, 999_950), ("ms", 1_000_000, 999_950_000)] {
        if nanoseconds < end {
            return if size == 1 {
                format!("{nanoseconds} {unit}")
            } else {
                with_digits(nanoseconds as f64 / size as f64, unit)
            };
        }
    }
    with_digits(time.as_secs_f64(), "s")
}

fn with_digits(value: f64, unit: &str) -> String {
    let digits = if value < 9.995 { 2 } else { 1 };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_the_unit_in_which_it_is_short() {
        let shown = |nanoseconds| duration(Duration::from_nanos(nanoseconds));
        assert_eq!(shown(0), "0 ns");
        assert_eq!(shown(999), "999 ns");
        assert_eq!(shown(1_000), "1.00 µs");
        assert_eq!(shown(9_994), "9.99 µs");
        assert_eq!(shown(9_996), "10.0 µs");
        assert_eq!(shown(999_949), "999.9 µs");
        assert_eq!(shown(999_951), "1.00 ms");
        assert_eq!(shown(12_345_678), "12.3 ms");
        assert_eq!(shown(61_000_000_000), "61.0 s");
    }
}
