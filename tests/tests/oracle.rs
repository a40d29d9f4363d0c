//! The decoder against this machine's processor.
#![cfg(target_arch = "x86_64")]

use crossing::oracle::{Child, Explanations, Generator, Outcome, compare, vendor};
use insn::x86::{Bits, Mode};

/// Encodings per mode; the variable `NTRACE_ORACLE_ENCODINGS` asks for a longer run.
const ENCODINGS: usize = 50_000;
/// Seed; the variable `NTRACE_ORACLE_SEED` asks for another sequence.
const SEED: u64 = 1;

fn variable<T: std::str::FromStr>(name: &str, usual: T) -> T {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

fn start(test: &str, bits: Bits) -> Option<Child> {
    match Child::start(bits) {
        Ok(child) => Some(child),
        Err(error) => {
            crossing::skip(test, format_args!("no traced child with {bits:?} code: {error}"));
            None
        }
    }
}

fn agrees_with_the_processor(test: &str, bits: Bits) {
    let Some(mut child) = start(test, bits) else { return };
    let explanations = Explanations::read(include_str!("../oracle-ud.txt")).expect("oracle-ud.txt");
    let mode = Mode::new(bits, vendor()).lenient();
    let count = variable("NTRACE_ORACLE_ENCODINGS", ENCODINGS);
    let seed = variable("NTRACE_ORACLE_SEED", SEED);
    let encodings = Generator::new(seed, bits).take(count);
    let report = compare(&mut child, mode, encodings, &explanations).expect("the child lives");
    println!("{bits:?}, seed {seed}: {report}");
    let subject = if bits == Bits::B64 { "64-bit" } else { "32-bit" };
    crossing::figure("oracle", subject, report.figures());
    assert!(report.executed > report.encodings / 20, "hardly anything executed: {report}");
    assert!(report.is_clean(), "{bits:?}, seed {seed}: {report}");
}

#[test]
fn what_the_processor_decodes_in_64_bit_mode_has_our_length() {
    agrees_with_the_processor("what_the_processor_decodes_in_64_bit_mode_has_our_length", Bits::B64);
}

#[test]
fn what_the_processor_decodes_in_32_bit_mode_has_our_length() {
    agrees_with_the_processor("what_the_processor_decodes_in_32_bit_mode_has_our_length", Bits::B32);
}

#[test]
fn the_oracle_tells_too_short_executed_faulted_and_undefined_apart() {
    let Some(mut child) = start("the_oracle_tells_too_short_executed_faulted_and_undefined_apart", Bits::B64) else {
        return;
    };
    let cases: &[(&[u8], usize, Outcome)] = &[
        (&[0x90], 1, Outcome::Executed),
        (&[0x48, 0x89, 0xc8], 2, Outcome::TooShort),
        (&[0x48, 0x89, 0xc8], 3, Outcome::Executed),
        // Loads at the boundary are data, not fetches.
        (&[0x48, 0x8b, 0x05, 0, 0, 0, 0], 7, Outcome::Executed),
        (&[0xf4], 1, Outcome::Faulted),
        (&[0x48, 0xa1, 0, 0, 0, 0, 0, 0, 0, 0], 10, Outcome::Faulted),
        (&[0x0f, 0x0b], 2, Outcome::Undefined),
        // Jumps away, calls the kernel, loses the stack and the thread pointer: the next probe is unharmed.
        (&[0xff, 0xe0], 2, Outcome::Executed),
        (&[0x0f, 0x05], 2, Outcome::Executed),
        (&[0x48, 0x31, 0xe4], 3, Outcome::Executed),
        (&[0x8e, 0xe0], 2, Outcome::Executed),
        (&[0xcc], 1, Outcome::Executed),
        (&[0x90], 1, Outcome::Executed),
    ];
    for (bytes, n, outcome) in cases {
        assert_eq!(child.probe(bytes, *n), Ok(*outcome), "{bytes:02x?} cut to {n}");
    }
}

#[test]
fn thirty_two_bit_code_is_run_as_such() {
    let Some(mut child) = start("thirty_two_bit_code_is_run_as_such", Bits::B32) else { return };
    // `inc eax` is a REX prefix in 64-bit mode, `push es` undefined.
    assert_eq!(child.probe(&[0x40], 1), Ok(Outcome::Executed));
    assert_eq!(child.probe(&[0x06], 1), Ok(Outcome::Executed));
    assert_eq!(child.probe(&[0xa1, 0, 0, 0x20, 0], 5), Ok(Outcome::Executed));
}
