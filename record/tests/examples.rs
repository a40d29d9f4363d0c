//! The example does what it shows.
#![allow(dead_code, reason = "the example's main function is not called")]

#[path = "../examples/most_executed_instructions.rs"]
mod most_executed_instructions;

#[test]
fn the_most_executed_instructions_come_first() {
    let trace: &[u8] = include_bytes!("data/x86-64.ntrace");
    let mut out = Vec::new();
    most_executed_instructions::run(trace, 3, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let times: Vec<u64> =
        out.lines().take(3).map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect();
    assert!(times.is_sorted_by(|a, b| a >= b) && times[0] > 100, "{out}");
    let total: u64 = out.lines().last().unwrap().split_whitespace().next().unwrap().parse().unwrap();
    assert!(total > 5_000, "{out}");
}
