//! The frames of a stack with their registers.

use super::caller::Caller;
use super::general::{COUNT, General};
use super::native;
use super::recover::recover;
use crate::process::Module;
use ubp::{Arch, Registers};

/// A frame of a stack.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    /// The address at which its function continues.
    pub(crate) address: u64,
    /// The address that decides where it is: that of the call for a return address.
    pub(crate) inside: u64,
    pub(crate) registers: General,
    /// The address at which the frame of its caller begins.
    pub(crate) cfa: Option<u64>,
}

/// The general registers of a thread. Those of 32-bit code have other numbers, and are not told.
fn all(registers: &Registers) -> General {
    let mut general = General::default();
    if registers.arch() != Arch::I386 {
        for number in 0..COUNT {
            general.set(number, native::general_register(number).and_then(|register| registers.get(register)));
        }
    }
    general
}

/// The frames of a thread with these registers, whose callers were found. Where unwind information leads to another caller, or does not
/// describe the code, the stack pointer and the frame pointer alone are known in the caller.
pub(super) fn frames(
    modules: &[Module],
    registers: &Registers,
    callers: &[Caller],
    mut read: impl FnMut(u64, &mut [u8]) -> usize,
) -> Vec<Raw> {
    let pc = registers.pc().0;
    let mut frame = Raw { address: pc, inside: pc, registers: all(registers), cfa: None };
    let mut frames = Vec::new();
    for caller in callers.iter().map(Some).chain([None]) {
        let module = modules.iter().find(|module| module.contains(frame.inside));
        let recovered = module.and_then(|module| recover(module, frame.inside, &frame.registers, &mut read));
        let Some(caller) = caller else {
            frames.push(Raw { cfa: recovered.map(|recovered| recovered.cfa), ..frame });
            break;
        };
        let agreed = recovered.filter(|recovered| recovered.return_address == Some(caller.address));
        let cfa = Some(agreed.as_ref().map_or(caller.stack, |agreed| agreed.cfa));
        let next = match agreed {
            Some(agreed) => {
                let inside = if agreed.is_signal { caller.address } else { caller.address.wrapping_sub(1) };
                Raw { address: caller.address, inside, registers: agreed.caller, cfa: None }
            }
            None => {
                let mut known = General::default();
                if registers.arch() != Arch::I386 {
                    known.set(native::STACK_POINTER, Some(caller.stack));
                    known.set(native::FRAME_POINTER, Some(caller.frame));
                }
                let inside = caller.address.wrapping_sub(1);
                Raw { address: caller.address, inside, registers: known, cfa: None }
            }
        };
        frames.push(Raw { cfa, ..std::mem::replace(&mut frame, next) });
    }
    frames
}
