//! Functions of the C library get trampolines.
#![cfg(target_arch = "x86_64")]

use insn::x86::{Flags, Mode, Reg, dead};
use object::{Object, ObjectSection, ObjectSymbol};
use trampoline::x86::{Place, Probe, Refusal, Site};

/// Bytes behind an entry that a liveness scan may read.
const WINDOW: usize = 512;

#[test]
fn nearly_every_function_of_the_c_library_gets_a_trampoline() {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
    let line = maps.lines().find(|line| line.ends_with("/libc.so.6")).expect("this program uses the C library");
    let bytes = std::fs::read(&line[line.find('/').expect("a path")..]).expect("the library can be read");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let text = file.section_by_name(".text").expect("code");
    let (start, code) = (text.address(), text.data().expect("bytes"));
    let functions = file.dynamic_symbols().filter(|symbol| symbol.kind() == object::SymbolKind::Text);
    let mut entries: Vec<(u64, u64)> = functions.map(|symbol| (symbol.address(), symbol.size())).collect();
    entries.sort_unstable();
    entries.dedup_by_key(|(address, _)| *address);
    let probe = [Probe { arrivals: Some(start), ..Probe::default() }];
    let (mut all, mut done, mut flags_dead, mut rax_dead, mut short) = (0, 0, 0, 0, 0);
    for (address, size) in entries {
        let Some(offset) = address.checked_sub(start).map(|offset| offset as usize).filter(|at| *at < code.len())
        else {
            continue;
        };
        all += 1;
        let window = &code[offset..code.len().min(offset + WINDOW.max(size as usize))];
        let site = Site { pc: address, code: window, mode: Mode::INTEL_64, shadow_stack: false, keep_dead: false };
        let (mut room, mut places) = ([0; 1024], [Place::EMPTY; 128]);
        match site.assemble(&probe, start + 0x1000_0000, &mut room, &mut places) {
            Ok(trampoline) => {
                done += 1;
                short += u64::from(trampoline.boundaries().next().is_none());
                let dead = dead(window, 0, Mode::INTEL_64);
                flags_dead += u64::from(dead.flags.contains(Flags::STATUS));
                rax_dead += u64::from(!dead.flags.contains(Flags::STATUS) && dead.registers.contains(Reg::RAX));
            }
            Err(reason) => {
                assert!(matches!(reason, Refusal::NotCode(_) | Refusal::OwnAddress(_)), "{address:#x}: {reason}")
            }
        }
    }
    println!(
        "{all} functions, {done} trampolines, {short} of one instruction; flags dead {flags_dead}, else rax dead {rax_dead}"
    );
    assert!(all > 1000 && done * 100 > all * 99, "{done} of {all}");
    assert!(flags_dead * 2 > all, "flags are dead at {flags_dead} of {all}");
}
