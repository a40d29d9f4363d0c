//! x86: jumps, trampolines and their places. `crossing` runs them.

mod assemble;
mod jump;
mod live;
mod places;
mod refuse;

use insn::x86::Mode;
use trampoline::x86::{Place, Probe, Refusal, Site, Trampoline};

/// Address of the site.
const PC: u64 = 0x40_0000;
/// Address of the trampoline.
const AT: u64 = 0x50_0000;
/// Address of a counter.
const COUNTER: u64 = 0x50_1000;

/// The bytes of a hexadecimal text.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn site(code: &[u8]) -> Site<'_> {
    Site { pc: PC, code, mode: Mode::INTEL_64, shadow_stack: false, keep_dead: false }
}

fn assemble(site: &Site<'_>, probes: &[Probe<'_>]) -> Result<(Trampoline, Vec<u8>, Vec<Place>), Refusal> {
    let (mut code, mut places) = (vec![0; 4096], vec![Place::EMPTY; 512]);
    let trampoline = site.assemble(probes, AT, &mut code, &mut places)?;
    code.truncate(trampoline.len());
    places.truncate(trampoline.places());
    Ok((trampoline, code, places))
}

fn count() -> Probe<'static> {
    Probe { arrivals: Some(COUNTER), ..Probe::default() }
}
