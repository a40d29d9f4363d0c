//! Signal numbers of the protocol, which are the same on all systems (gdb/signals.def).

use ubp::Signal;

/// The protocol's numbers of signals 0 to 31 of Linux.
const STANDARD: [u8; 32] = [
    0, 1, 2, 3, 4, 5, 6, 10, 8, 9, 30, 11, 31, 13, 14, 15, 143, 20, 19, 17, 18, 21, 22, 16, 24, 25, 26, 27, 28, 23, 32,
    12,
];
/// Real-time signal 32 and the last one, 64, and the number of signal 33: those from 33 to 63 follow each other.
const REAL_TIME_32: u8 = 77;
const REAL_TIME_33: u8 = 45;
const REAL_TIME_64: u8 = 78;
/// A signal that the protocol has no number for.
const UNKNOWN: u8 = 143;

/// The protocol's number of a signal.
pub(crate) fn to_protocol(signal: Signal) -> u8 {
    match signal.0 {
        32 => REAL_TIME_32,
        64 => REAL_TIME_64,
        number @ 33..=63 => REAL_TIME_33 + (number - 33) as u8,
        number => usize::try_from(number).ok().and_then(|at| STANDARD.get(at).copied()).unwrap_or(UNKNOWN),
    }
}

/// The signal of a number of the protocol; `None` for 0 and for signals that Linux does not have.
pub(crate) fn from_protocol(number: u64) -> Option<Signal> {
    (1..=64).map(Signal).find(|&signal| u64::from(to_protocol(signal)) == number && signal.0 != 16)
}

/// The signal of a packet; inside `None` for number 0, which is no signal. `None` for what is no number of a signal of Linux.
pub(crate) fn parse(text: &[u8]) -> Option<Option<Signal>> {
    match super::hex::number(text)? {
        0 => Some(None),
        number => from_protocol(number).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_comes_back_from_its_number_in_the_protocol() {
        for signal in (1..=64).map(Signal).filter(|signal| signal.0 != 16) {
            assert_eq!(from_protocol(to_protocol(signal).into()), Some(signal));
        }
        assert_eq!((to_protocol(Signal(7)), to_protocol(Signal(10)), to_protocol(Signal(63))), (10, 30, 75));
        assert_eq!((from_protocol(0), from_protocol(7)), (None, None));
    }
}
