use insn::Flow;
use stepping::x86::{Exit, Progress, SLOT_SIZE};
use ubp::core::{Arena, Layout, Number};

use super::slots::Case;

/// Every address of a slot at which a thread can be has one meaning and every meaning one address; no other address has one.
pub fn translation(data: &[u8]) {
    let Some(case) = Case::of(data) else { return };
    let code = &case.code;
    let start = code.original(0).unwrap_or_else(|| panic!("{}: no start", case.context()));
    assert_eq!((start.pc, start.progress, start.register), (case.site, Progress::Before, None), "{}", case.context());
    let boundaries = boundaries(&case);
    for offset in 0..=u8::MAX {
        let Some(place) = code.original(offset) else { continue };
        assert!(usize::from(offset) < SLOT_SIZE && offset <= code.len, "{}: {offset}", case.context());
        let known = boundaries.contains(&offset) || restart(&case, offset) || handler(&case, offset);
        assert!(known, "{}: {offset}", case.context());
        let middle = case.wrap(case.site.wrapping_add(u64::from(offset)));
        let wanted = match place.progress {
            Progress::Before => vec![middle],
            // Or the handler of a transaction.
            Progress::After => Some(case.next()).into_iter().chain(case.insn.target_address(case.site)).collect(),
        };
        assert!(wanted.iter().any(|pc| case.wrap(*pc) == place.pc), "{}: {offset} {place:x?}", case.context());
        if place.register.is_none() {
            let back = code.offset(place.pc, place.progress).unwrap_or_else(|| panic!("{}: {offset}", case.context()));
            assert_eq!(code.original(back), Some(place), "{}: {offset}", case.context());
            // An abort handler may be the next instruction, and a `nop` behind the copy changes nothing.
            let between = code.bytes.get(usize::from(back)..usize::from(offset)).unwrap_or_default();
            let same = between.iter().all(|byte| *byte == 0x90) && back <= offset;
            assert!(same || case.insn.flow() == Flow::Transaction, "{}: {offset}", case.context());
        }
    }
    if matches!(code.exit, Exit::Jump) && usize::from(code.len) > case.insn.len() {
        for boundary in boundaries.iter().filter(|boundary| **boundary < code.len) {
            assert!(code.original(*boundary).is_some(), "{}: nothing at {boundary}", case.context());
        }
    }
    storage(&case, data);
}

/// Offsets at which the slot's instructions begin or end, up to the first that does not go on; of one to be stepped only the start.
fn boundaries(case: &Case) -> Vec<u8> {
    let mut offset = 0;
    let mut boundaries = vec![0];
    if !matches!(case.code.exit, Exit::Jump | Exit::Trap(_)) {
        return boundaries;
    }
    while offset < usize::from(case.code.len) {
        let insn = case.decode(offset);
        offset += insn.len();
        if offset > case.insn.len() && insn.flow() == Flow::Jump {
            break;
        }
        boundaries.push(offset as u8);
    }
    boundaries
}

/// The kernel restarts a system call two bytes before its end, whatever prefixes it has.
fn restart(case: &Case, offset: u8) -> bool {
    let call = matches!(case.insn.flow(), Flow::Syscall | Flow::Interrupt);
    call && usize::from(offset) + 2 == case.insn.len()
}

/// Where a transaction aborts to whose handler is out of reach: the `int3` behind the code.
fn handler(case: &Case, offset: u8) -> bool {
    case.insn.flow() == Flow::Transaction && offset == case.code.len
}

/// Slots of an arena and addresses in it.
fn storage(case: &Case, data: &[u8]) {
    let layout = Layout::new(u32::from_le_bytes(*data.last_chunk().unwrap_or(&[1, 0, 0, 0])));
    let base = case.slot & !0xfff;
    if base.checked_add(layout.size()).is_none() {
        return;
    }
    let Ok(arena) = Arena::create(Nowhere, base, layout, 62, [0; 8]) else { return };
    let last = layout.capacity() - 1;
    for number in [0, last / 2, last].map(Number) {
        for offset in 0..SLOT_SIZE as u8 {
            let address = arena.slot(number) + u64::from(offset);
            assert_eq!(arena.slot_at(address), Some((number, offset)));
            assert!(arena.contains(address));
        }
    }
    assert_eq!(arena.slot_at(base + layout.slots() - 1), None);
    assert_eq!(arena.slot_at(base + layout.size()), None);
    assert!(!arena.contains(base + layout.size()) && !arena.contains(base.wrapping_sub(1)));
}

/// Memory that holds nothing.
struct Nowhere;

impl ubp::core::Memory for Nowhere {
    fn read(&self, _: u64, buffer: &mut [u8]) -> Result<(), ubp::core::Inaccessible> {
        buffer.fill(0);
        Ok(())
    }
    fn write(&mut self, _: u64, _: &[u8]) -> Result<(), ubp::core::Inaccessible> {
        Ok(())
    }
}
