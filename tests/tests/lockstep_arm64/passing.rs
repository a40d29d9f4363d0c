//! What a back end does with a plan.

use insn::arm64::{Reg, decode};
use stepping::arm64::{Code, Exit, Outcome, Plan, Registers, SLOT_SIZE, plan};
use stepping::{Fault, Memory};

use crate::lab::Lab;
use crate::state::{State, Stop};

struct Data<'a>(&'a Lab);

impl Memory for Data<'_> {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        self.0.read(address, buffer).ok_or(Fault::Page(address))
    }
    fn write(&mut self, address: u64, _: &[u8]) -> Result<(), Fault> {
        Err(Fault::Page(address))
    }
}

/// Passes a breakpoint on `word` at the lab's site with a slot at `slot`, and goes on until a signal.
pub(crate) fn pass(lab: &Lab, word: u32, slot: u64, state: &State) -> Stop {
    lab.run(&State { pc: lab.site() + 0x800, ..state.clone() });
    pass_on(lab, word, lab.site(), slot, state)
}

/// Passes a breakpoint on `word` at any site, with the data as they are, and goes on until a signal.
pub(crate) fn pass_on(lab: &Lab, word: u32, site: u64, slot: u64, state: &State) -> Stop {
    let copy = match plan(&decode(word).unwrap(), site) {
        Plan::Emulate(emulate) => {
            let mut after = state.clone();
            match emulate.run(&mut after, &mut Data(lab)) {
                Ok(Outcome::Done) => return lab.go_on(&after),
                Ok(outcome) => panic!("{word:#010x}: {outcome:?}"),
                Err(_) => assert_eq!(after, *state, "{word:#010x}: a fault changes nothing"),
            }
            emulate.slot()
        }
        Plan::Slot(copy) => copy,
        Plan::Refuse(reason) => panic!("{word:#010x}: {reason}"),
    };
    let code = copy.assemble(slot).unwrap();
    lab.fill_slot(slot, &code.bytes);
    enter(lab, &code, site, slot, state)
}

fn enter(lab: &Lab, code: &Code, site: u64, slot: u64, state: &State) -> Stop {
    let mut entering = State { pc: slot, ..state.clone() };
    let saved = code.scratch.map(|scratch| (scratch.register, state.get(scratch.register)));
    if let Some(scratch) = code.scratch {
        entering.set(scratch.register, scratch.value);
    }
    let mut stop = lab.go_on(&entering);
    if let Some((register, before)) = saved {
        stop.state.set(register, before);
    }
    // All around the site traps, so that a stepped instruction stops by itself after it has run. A call to nowhere is done as
    // well: the fault is its target's.
    if matches!(code.exit, Exit::StepThenReturnAddress(_)) && stop.state.pc != slot {
        assert_eq!(stop.state.get(Reg::X30), slot + 4);
        stop.state.set(Reg::X30, site + 4);
    }
    let offset = stop.state.pc.wrapping_sub(slot);
    if offset >= SLOT_SIZE as u64 {
        return stop;
    }
    let place = code.original(offset as u8).expect("a thread is at a place");
    if stop.address == stop.state.pc {
        stop.address = place.pc;
    }
    stop.state.pc = place.pc;
    stop
}

/// Whether the plan of `word` at `site` has a copy single-stepped that lies near.
pub(crate) fn is_stepped(word: u32, site: u64) -> bool {
    let copy = match plan(&decode(word).unwrap(), site) {
        Plan::Emulate(emulate) => emulate.slot(),
        Plan::Slot(copy) => copy,
        Plan::Refuse(_) => return false,
    };
    copy.assemble(site + 0x1_0000).is_ok_and(|code| !matches!(code.exit, Exit::Jump | Exit::Trap(_)))
}
