//! Lets a call of a function fail: `inject_faults PROGRAM ADDRESS NUMBER VALUE [ARGS…]`.
//!
//! The call with that number returns the value at once, and the function does not run. ADDRESS is hexadecimal, counted from the start of the
//! program's file mapping; VALUE is what a function returns that has failed, such as 0 or -1.

use std::error::Error;
use std::process::Command;

use ubp::arch::Reg;
use ubp::{Comparison, EventKind, Operand, Session, Spec};

/// The register of a function's result.
#[cfg(target_arch = "aarch64")]
const RESULT: Reg = Reg::general(0);
#[cfg(target_arch = "x86_64")]
const RESULT: Reg = Reg::RAX;

/// Runs a program whose call number `number` of the function at `address` returns `value`. Returns whether there was such a call, and the
/// program's exit status; -1 where a signal killed it.
pub(crate) fn run(command: Command, address: u64, number: u64, value: i64) -> Result<(bool, i32), Box<dyn Error>> {
    let mut session = Session::new()?;
    let pid = session.spawn(command)?;
    let process = session.process(pid).ok_or("the program is gone")?;
    let path = process.executable().to_path_buf();
    let maps = process.maps()?;
    let first = maps.iter().find(|map| map.path.as_deref() == Some(&path)).ok_or("the program is not mapped")?;
    // Only that call is an event. The others cost what a counted hit costs.
    let spec =
        Spec::event(first.start + (address - first.offset)).when(Operand::Arrivals.is(Comparison::Equal, number));
    session.insert(pid, &[spec])?.remove(0)?;
    session.resume(pid.leader())?;
    let (mut injected, mut status) = (false, -1);
    while let Some(event) = session.wait()? {
        match event.kind {
            EventKind::Hit(_) => {
                let mut registers = session.registers(event.tid)?;
                let back = session.return_address(event.pid, &registers).ok_or("no stack")?;
                registers.set(RESULT, value as u64);
                registers.set_pc(back);
                // A call of x86 has pushed the return address.
                #[cfg(target_arch = "x86_64")]
                registers.set(Reg::RSP, registers.sp().0 + 8);
                session.set_registers(event.tid, &registers)?;
                injected = true;
            }
            EventKind::Forked { child } => session.detach(child)?,
            EventKind::Exited(code) if event.pid == pid => status = code,
            _ => {}
        }
        if event.is_held() {
            session.resume(event.tid)?;
        }
    }
    Ok((injected, status))
}

fn main() -> Result<(), Box<dyn Error>> {
    const USAGE: &str = "usage: inject_faults PROGRAM ADDRESS NUMBER VALUE [ARGS…]";
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [program, address, number, value, rest @ ..] = args.as_slice() else { return Err(USAGE.into()) };
    let mut command = Command::new(program);
    command.args(rest);
    let (injected, status) = run(command, u64::from_str_radix(address, 16)?, number.parse()?, value.parse()?)?;
    if !injected {
        eprintln!("there was no such call");
    }
    std::process::exit(status)
}
