//! Records of hits that the tracer makes.

use super::super::arch;
use super::super::recorder::Recorded;
use super::super::space::Space;
use super::super::tracees::Tracees;
use crate::record::{TEXT, Text};
use crate::{Result, Tid};

/// The lowest address of text: that of memory that a program can map (`vm.mmap_min_addr`).
const LOWEST: u64 = 0x1_0000;

/// Records that a thread, which is stopped, is at a site.
pub(super) fn record_hit(tracees: &mut Tracees, tid: Tid, site: u64, with_text: bool) -> Result<()> {
    let (pid, ticks, registers) = (tracees.thread(tid)?.pid, arch::ticks(), arch::read(tid)?);
    let space = tracees.space_of_mut(pid)?;
    let (arguments, caller) = arch::arguments(&registers, |address, buffer| space.read(address, buffer));
    let text = with_text.then(|| Box::new(arguments.map(|address| text_at(space, address))));
    space.recorded.hits.push(Recorded { pid, tid, site, ticks, arguments, caller, text });
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
