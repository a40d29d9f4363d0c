//! Records of hits that the tracer makes.

use super::super::arch;
use super::super::jumps::stack_room;
use super::super::recorder::Recorded;
use super::super::space::Space;
use super::super::tracees::Tracees;
use crate::record::{StackCopy, TEXT, Text};
use crate::{Address, Registers, Result, Tid};

/// The lowest address of text: that of memory that a program can map (`vm.mmap_min_addr`).
const LOWEST: u64 = 0x1_0000;

/// Records that a thread, which is stopped, is at a site: with the memory at the arguments of `with_text`, and with the stack, if that is wanted.
pub(super) fn record_hit(
    tracees: &mut Tracees,
    tid: Tid,
    site: u64,
    (with_text, with_stack): (u8, bool),
) -> Result<()> {
    let room = stack_room(tracees.options.buffer.stack);
    let (pid, ticks, registers) = (tracees.thread(tid)?.pid, arch::ticks(), arch::read(tid)?);
    let space = tracees.space_of_mut(pid)?;
    let (arguments, caller) = arch::arguments(&registers, |address, buffer| space.read(address, buffer));
    let text_of = |number: usize| match arguments.get(number) {
        Some(address) if with_text >> number & 1 != 0 => text_at(space, *address),
        _ => Text::NONE,
    };
    let text = (with_text != 0).then(|| Box::new(std::array::from_fn(text_of)));
    let stack = (with_stack && room > 0).then(|| {
        let mut registers = Registers { raw: registers };
        registers.set_pc(Address(site));
        let mut bytes = vec![0; room.into()];
        let length = space.read(registers.sp().0, &mut bytes);
        bytes.truncate(length);
        Box::new(StackCopy { registers, bytes: bytes.into(), is_cut: length == room.into() })
    });
    space.recorded.hits.push(Recorded { pid, tid, site, ticks, arguments, caller, text, stack });
    Ok(())
}

fn text_at(space: &Space, address: u64) -> Text {
    if address < LOWEST {
        return Text::NONE;
    }
    let mut bytes = [0; TEXT];
    let length = space.read(address, &mut bytes).min(TEXT) as u8;
    Text { bytes, length }
}
