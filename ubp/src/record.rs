//! Records of hits.

use std::time::Duration;

use crate::{Address, Pid, Registers, Tid};

/// The number of integer arguments that a record has.
pub(crate) const ARGUMENTS: usize = 6;
/// The most bytes of text behind an argument.
pub(crate) const TEXT: usize = 64;

/// A hit of a breakpoint that records ([`Report::Record`](crate::Report::Record)), as the thread was at the site.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The process of the thread.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
    /// The address of the breakpoint.
    pub address: Address,
    /// The time of the hit (`CLOCK_MONOTONIC`). The times of one thread never decrease.
    pub time: Duration,
    /// The first integer arguments by the calling convention, if the site is the first instruction of a function.
    pub arguments: [u64; ARGUMENTS],
    /// The return address, if the site is the first instruction of a function; `None` if the stack could not be read.
    pub return_address: Option<Address>,
    /// The memory at each argument, for [`Spec::with_text`](crate::Spec::with_text).
    pub(crate) text: Option<Box<[Text; ARGUMENTS]>>,
    /// The registers and the stack, for [`Spec::with_stack`](crate::Spec::with_stack).
    pub stack: Option<Box<StackCopy>>,
}

/// The general registers and the stack of a thread at a hit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StackCopy {
    /// The registers. The code of a jump records those with numbers in instructions and the pc; flags, selectors and bases are 0 then.
    pub registers: Registers,
    /// The stack from the stack pointer on. It ends where memory ends, at the thread control block above, and at [`Buffer::stack`](crate::Buffer::stack).
    pub bytes: Box<[u8]>,
    /// Whether [`Buffer::stack`](crate::Buffer::stack) ended it: there may be more callers.
    pub is_cut: bool,
}

impl StackCopy {
    /// Reads memory that the copy has, up to its end. Returns the number of bytes.
    pub fn read(&self, address: Address, buffer: &mut [u8]) -> usize {
        let offset = address.0.checked_sub(self.registers.sp().0).and_then(|offset| usize::try_from(offset).ok());
        let there = offset.and_then(|offset| self.bytes.get(offset..)).unwrap_or_default();
        let count = there.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), there.get(..count)) {
            to.copy_from_slice(from);
        }
        count
    }
}

/// Memory at an argument, as far as it could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) bytes: [u8; TEXT],
    pub(crate) length: u8,
}

impl Text {
    pub(crate) const NONE: Text = Text { bytes: [0; TEXT], length: 0 };
}

impl Record {
    /// Up to 64 bytes of the memory to which an argument pointed at the hit. It is empty if that could not be read, if the argument is below
    /// 64 KiB, and without [`Spec::with_text`](crate::Spec::with_text).
    pub fn text(&self, argument: usize) -> &[u8] {
        let text = self.text.as_ref().and_then(|texts| texts.get(argument));
        text.and_then(|text| text.bytes.get(..text.length.into())).unwrap_or_default()
    }
}
