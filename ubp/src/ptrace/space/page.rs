//! The page in the debuggee that handles signals of breakpoints when the tracer is gone: its code, and for that code the actions of the
//! program and the list of arenas.

use super::Space;
use crate::{Arch, Signal};

/// A signal that the page handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ptrace) enum Handled {
    /// `SIGTRAP`, of breakpoint instructions.
    Trap,
    /// `SIGILL`, of the last byte of some jumps.
    Undefined,
    /// `SIGSEGV`, of code of jumps that reads the program's memory.
    Segment,
    /// `SIGBUS`, of the same code.
    Bus,
}

/// The kernel's `struct sigaction` of 64-bit programs: handler, flags, restorer and mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ptrace) struct SignalAction {
    pub(in crate::ptrace) handler: u64,
    flags: u64,
    restorer: u64,
    mask: u64,
}

/// Code of one architecture for the page; offsets are those in the page.
pub(in crate::ptrace) struct HandlerCode {
    /// It begins with the handler.
    pub(in crate::ptrace) code: &'static [u8],
    /// The handler of the signals of jumps, where there are such. It and that of `SIGTRAP` call the program's handler for signals that are none
    /// of ours.
    pub(in crate::ptrace) of_jumps: Option<u64>,
    /// The code that a handler returns to, where the kernel has none of its own.
    pub(in crate::ptrace) restorer: Option<u64>,
    /// A system call, and the way back to where the thread was; up to the end of the code.
    pub(in crate::ptrace) gate: Option<u64>,
    /// The number of `rt_sigaction`.
    pub(in crate::ptrace) sigaction: u64,
}

/// The offset of what the handlers read, as the code knows it: the `struct sigaction` of `SIGTRAP`, that of the default action, the
/// program's for `SIGTRAP`, then for each signal of jumps ours and the program's, and the addresses of the arenas up to a zero.
const DATA: u64 = 2048;
const ARENAS: u64 = 288;
/// Bytes of the page that are in use.
pub(in crate::ptrace) const SIZE: u64 = 4096;
/// The largest number of arenas in the list.
const MOST: usize = ((SIZE - DATA - ARENAS) / 8 - 2) as usize;
/// The first words of the list of arenas after the tracer has detached: the list is empty, and the second word says that no tracer was killed.
const LEFT: [u64; 2] = [0, 1];
/// asm/signal.h; the libc crate lacks it for some targets.
const SA_RESTORER: u64 = 0x0400_0000;
const FLAGS: u64 = (libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART) as u64;

impl Handled {
    pub(in crate::ptrace) const ALL: [Handled; 4] = [Handled::Trap, Handled::Undefined, Handled::Segment, Handled::Bus];

    pub(in crate::ptrace) fn of(signal: i32) -> Option<Handled> {
        Handled::ALL.into_iter().find(|handled| handled.signal().0 == signal)
    }

    pub(in crate::ptrace) fn signal(self) -> Signal {
        match self {
            Handled::Trap => Signal(libc::SIGTRAP),
            Handled::Undefined => Signal(libc::SIGILL),
            Handled::Segment => Signal(libc::SIGSEGV),
            Handled::Bus => Signal(libc::SIGBUS),
        }
    }

    /// The offset in the page of the action for the signal.
    pub(in crate::ptrace) fn own(self) -> u64 {
        match self {
            Handled::Trap => DATA,
            Handled::Undefined => DATA + 96,
            Handled::Segment => DATA + 160,
            Handled::Bus => DATA + 224,
        }
    }

    /// The offset in the page of the program's action.
    pub(in crate::ptrace) fn former(self) -> u64 {
        match self {
            Handled::Trap => DATA + 64,
            _ => self.own() + 32,
        }
    }
}

impl SignalAction {
    /// The default action.
    pub(in crate::ptrace) const DEFAULT: SignalAction = SignalAction::of_handler(0);

    /// An action of which the handler alone is known.
    pub(in crate::ptrace) const fn of_handler(handler: u64) -> SignalAction {
        SignalAction { handler, flags: 0, restorer: 0, mask: 0 }
    }

    pub(in crate::ptrace) fn new(bytes: [u8; 32]) -> SignalAction {
        let words: [[u8; 8]; 4] = std::array::from_fn(|word| std::array::from_fn(|byte| bytes[8 * word + byte]));
        let [handler, flags, restorer, mask] = words.map(u64::from_le_bytes);
        SignalAction { handler, flags, restorer, mask }
    }

    /// Whether a handler of ours can call the handler: the kernel leaves the action as it is, and the handler returns by its own code.
    pub(in crate::ptrace) fn can_be_called(&self) -> bool {
        let flags = self.flags;
        self.handler > 1 && flags & libc::SA_RESETHAND as u64 == 0 && flags & SA_RESTORER != 0
    }

    fn words(&self) -> [u64; 4] {
        [self.handler, self.flags, self.restorer, self.mask]
    }
}

impl HandlerCode {
    /// The offset of the handler of a signal.
    pub(in crate::ptrace) fn entry(&self, signal: Handled) -> Option<u64> {
        match signal {
            Handled::Trap => Some(0),
            _ => self.of_jumps,
        }
    }

    /// The action for a signal, for the page at `base`. A handler that calls the program's has the flags of that one. All handlers block all
    /// signals, so that whoever runs one is in the page.
    fn action(&self, base: u64, signal: Handled, former: &SignalAction) -> Option<SignalAction> {
        let handler = base + self.entry(signal)?;
        if former.handler != 0 {
            let flags = former.flags | libc::SA_SIGINFO as u64;
            return Some(SignalAction { handler, flags, restorer: former.restorer, mask: u64::MAX });
        }
        let restorer = self.restorer.map_or(0, |offset| base + offset);
        let flags = FLAGS | if restorer == 0 { 0 } else { SA_RESTORER };
        Some(SignalAction { handler, flags, restorer, mask: u64::MAX })
    }

    /// The code of the gate.
    pub(in crate::ptrace) fn gate_code(&self) -> Option<&'static [u8]> {
        self.code.get(usize::try_from(self.gate?).ok()?..)
    }

    /// The page at `base`, up to the list of arenas.
    pub(in crate::ptrace) fn page(&self, base: u64, arch: Arch) -> Vec<u8> {
        let mut page = self.code.to_vec();
        page.resize(DATA as usize, 0);
        for signal in Handled::ALL {
            let Some(action) = self.action(base, signal, &SignalAction::DEFAULT) else { continue };
            page.resize(signal.own() as usize, 0);
            let [rest @ .., mask] = action.words();
            match arch {
                Arch::I386 => page.extend(rest.iter().flat_map(|word| (*word as u32).to_le_bytes())),
                _ => page.extend(rest.iter().flat_map(|word| word.to_le_bytes())),
            }
            page.extend(mask.to_le_bytes());
        }
        page.resize((DATA + ARENAS) as usize, 0);
        page
    }
}

impl Space {
    /// The program's action for a signal, as the page has it: the default one unless our handler took the place of another.
    pub(in crate::ptrace) fn former_action(&self, signal: Handled) -> SignalAction {
        let read = |page| self.memory.read_array(page + signal.former());
        self.trap_handler.and_then(read).map_or(SignalAction::DEFAULT, SignalAction::new)
    }

    /// Writes the program's action for a signal, and ours that goes with it, into the page. Returns whether they stand there.
    pub(in crate::ptrace) fn set_former_action(
        &self,
        code: &HandlerCode,
        signal: Handled,
        former: &SignalAction,
    ) -> bool {
        if self.former_action(signal) == *former {
            return true;
        }
        let (Some(page), Some(own)) = (self.trap_handler, code.action(self.trap_handler.unwrap_or(0), signal, former))
        else {
            return false;
        };
        // A handler that runs calls whatever the former action is.
        [(signal.former(), former), (signal.own(), &own)].into_iter().all(|(offset, action)| {
            let bytes: Vec<u8> = action.words().iter().flat_map(|word| word.to_le_bytes()).collect();
            self.memory.write(page + offset, &bytes) == bytes.len()
        })
    }

    /// The arenas in the list.
    pub(in crate::ptrace) fn listed_arenas(&self) -> Vec<u64> {
        let Some(page) = self.trap_handler else { return Vec::new() };
        let mut list = vec![0; 8 * MOST];
        let read = self.memory.read(page + DATA + ARENAS, &mut list);
        let raw = list.get(..read).unwrap_or_default().chunks_exact(8);
        let words = raw.map(|raw| u64::from_le_bytes(raw.try_into().unwrap_or_default()));
        words.take_while(|&base| base != 0).collect()
    }

    /// Notes in the page that its tracer has left, and has taken the arenas with it.
    pub(in crate::ptrace) fn leave_page(&self) {
        let Some(page) = self.trap_handler else { return };
        self.memory.write(page + DATA + ARENAS, &LEFT.map(u64::to_le_bytes).concat());
    }

    /// Whether the tracer that made the page has left, and was not killed.
    pub(in crate::ptrace) fn is_page_left(&self) -> bool {
        let list = self.trap_handler.and_then(|page| self.memory.read_array::<16>(page + DATA + ARENAS));
        list.is_some_and(|list| list.as_slice() == LEFT.map(u64::to_le_bytes).concat())
    }

    /// Whether a handler of ours has taken the place of one of the program's.
    pub(in crate::ptrace) fn has_former_actions(&self) -> bool {
        Handled::ALL.into_iter().any(|signal| self.former_action(signal).handler != 0)
    }

    /// Writes the list of arenas where the memory has another one.
    pub(in crate::ptrace) fn complete_list(&self) {
        if !self.listed_arenas().into_iter().eq(self.bases()) {
            self.list_arenas();
        }
    }

    /// The addresses of the arenas that have a place in the list.
    fn bases(&self) -> impl Iterator<Item = u64> {
        self.storages.iter().map(|storage| storage.arena.base()).take(MOST)
    }

    /// Writes the list of arenas.
    pub(in crate::ptrace) fn list_arenas(&self) {
        let Some(page) = self.trap_handler else { return };
        let list: Vec<u8> = self.bases().chain([0, 0]).flat_map(u64::to_le_bytes).collect();
        self.memory.write(page + DATA + ARENAS, &list);
    }
}
